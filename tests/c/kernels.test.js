// Runs the kernels' tests, which are written in C beside this file. Each build has its own code paths, so the
// tests run natively under AddressSanitizer and UBSan, and as WebAssembly, both with and without relaxed
// SIMD.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SANITIZERS, compileBoth } from './objects.js'
import { nodes } from '../nodes/nodes.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const sources = ['c', 'tests/c'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.c'))
    .map((name) => join(folder, name)),
)
const LIMIT = 15 * 60 * 1000 // milliseconds for one program: only a hang takes that long

mkdirSync(join(root, 'build'), { recursive: true })

/**
 * Runs a program in the root folder.
 *
 * @param {string} file
 * @param {string[]} args
 * @returns {Promise<{ status: number | string, stdout: string, stderr: string }>} status: the exit code, the
 *   signal that ended the program, or the error that kept it from starting
 */
function run(file, args) {
  const env = { ...process.env, ...SANITIZERS }
  const options = { cwd: root, env, timeout: LIMIT, maxBuffer: 2 ** 24 }
  return new Promise((resolve) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      resolve({ status: error ? (error.code ?? error.signal ?? error.message) : 0, stdout, stderr })
    })
  })
}

/**
 * Compiles and links.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} compiler
 * @param {string[]} args
 */
async function link(t, compiler, args) {
  const { status, stdout, stderr } = await run(compiler, args)
  assert.equal(status, 0, `${compiler} failed (${status}):\n${stdout}${stderr}`)
  if (stderr) t.diagnostic(stderr)
}

/**
 * @param {'simd' | 'relaxed' | 'native'} build
 * @returns {Promise<{ flags: string[] } | { reason: string }>} the flags that build.sh prints, or why this
 *   system lacks the build
 */
async function flagsOf(build) {
  const { status, stdout, stderr } = await run('./build.sh', ['flags', build])
  return status === 0 ? { flags: stdout.trim().split(' ') } : { reason: stderr.trim() }
}

/**
 * Reports each line `ok - name` or `not ok - name: reason` as a subtest. One more subtest checks how the
 * program ended: after a crash, a sanitizer's report or a hang there is no summary.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} file
 * @param {string[]} [args]
 */
async function report(t, file, args = []) {
  const { status, stdout, stderr } = await run(file, args)
  const results = [...stdout.matchAll(/^(ok|not ok) - (.+?)(?:: (.+))?$/gm)]
  for (const [, verdict, name, reason] of results) {
    await t.test(name, () => assert.ok(verdict === 'ok', reason))
  }
  await t.test('the program runs to its end', () => {
    const summary = /^(\d+) passed, (\d+) failed\n$/m.exec(stdout)
    const last = results.at(-1)?.[2] ?? 'nothing'
    assert.ok(summary, `ended with ${status} after "${last}":\n${stderr || stdout.slice(-2000)}`)
    const [passed, failed] = summary.slice(1).map(Number)
    assert.equal(results.length, passed + failed, stdout)
    assert.equal(status, failed ? 1 : 0, stderr)
  })
}

/** @param {string} program @returns {Promise<string | undefined>} a Node that can compile this WebAssembly */
async function nodeFor(program) {
  const valid = `WebAssembly.validate(require('node:fs').readFileSync(${JSON.stringify(program)}))`
  for (const node of nodes) {
    if ((await run(node, ['-p', valid])).stdout.trim() === 'true') return node
  }
}

/** The objects of both native builds. They are compiled together, because they share most of tests/c. */
const native = (async () => {
  const given = await flagsOf('native')
  if ('reason' in given) return given
  const compiler = [process.env.CC || 'gcc', ...given.flags]
  return { compiler, ...(await compileBoth([...compiler, '-Ic'], 'build/objects', sources)) }
})()
native.catch(() => {}) // the tests report it

// Two programs at a time: each uses one core.
describe('the kernels', { concurrency: 2 }, () => {
  for (const [name, build] of /** @type {const} */ ([
    ['natively, under AddressSanitizer and UBSan', 'simd'],
    ['natively, as the relaxed build, under AddressSanitizer and UBSan', 'relaxed'],
  ])) {
    test(name, async (t) => {
      const compiled = await native
      if ('reason' in compiled) return t.skip(compiled.reason)
      const { compiler, warnings } = compiled
      if (warnings) t.diagnostic(warnings)
      const program = `build/test-kernels-native-${build}`
      await link(t, compiler[0], [...compiler.slice(1), '-o', program, ...compiled[build], '-lm'])
      await report(t, program)
    })
  }

  for (const build of /** @type {const} */ (['simd', 'relaxed'])) {
    test(`as WebAssembly, build ${build}`, async (t) => {
      const given = await flagsOf(build)
      if ('reason' in given) return t.skip(given.reason)
      const program = `build/test-kernels-${build}.wasm`
      const args = [...given.flags, '-sSTANDALONE_WASM', '-sINITIAL_MEMORY=256MB']
      await link(t, 'emcc', [...args, '-Ic', '-o', program, ...sources, '-lm'])
      const node = await nodeFor(program)
      if (!node) return t.skip('no Node here can run relaxed SIMD: Node 22 or later can')
      await report(t, node, ['--no-warnings', 'tests/c/wasi.js', program])
    })
  }
})

// Newer compilers may fuse them in the relaxed build, and clang does natively: the bits would differ.
test('the compiler of the WebAssembly never fuses a product and a sum by itself', async () => {
  const given = await flagsOf('simd')
  assert.ok('flags' in given)
  const probe = 'float probe(float a, float b, float c)'
  writeFileSync(join(root, 'build/probe-fused.c'), `${probe};\n${probe} { return a * b + c; }\n`)
  const args = [...given.flags, '-S', '-emit-llvm', '-o', '-', 'build/probe-fused.c']
  const { stdout, stderr } = await run('emcc', args)
  assert.match(stdout, /fmul float.*\n.*fadd float/, `build.sh should forbid it:\n${stdout}${stderr}`)
})
