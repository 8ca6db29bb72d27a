// Runs the kernels' tests, which are written in C beside this file, natively under AddressSanitizer and UBSan,
// and as WebAssembly. Each build has its own code paths. By default the code of the relaxed build runs
// natively, and that of the simd build as WebAssembly; in ./build.sh test all both run as both.

/** @import { Command } from '../nodes/nodes.js' */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { all } from '../all.js'
import { nodes } from '../nodes/nodes.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const LIMIT = 15 * 60 * 1000 // milliseconds for one program: only a hang takes that long

/**
 * Runs a program in the root folder.
 *
 * @param {string} file
 * @param {string[]} args
 * @returns {Promise<{ status: number | string, stdout: string, stderr: string }>} status: the exit code, the
 *   signal that ended the program, or the error that kept it from starting
 */
function run(file, args) {
  const options = { cwd: root, timeout: LIMIT, maxBuffer: 2 ** 24 }
  return new Promise((resolve) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      resolve({ status: error ? (error.code ?? error.signal ?? error.message) : 0, stdout, stderr })
    })
  })
}

/**
 * Compiles what has changed of programs.
 *
 * @param {string} build what ./build.sh calls it
 * @param {string[]} programs targets of c/Makefile
 * @returns {Promise<{ warnings: string } | { reason: string }>} the compiler's warnings, or why this system
 *   lacks the build
 */
async function make(build, ...programs) {
  const flags = await run('./build.sh', ['flags', build])
  if (flags.status !== 0) return { reason: flags.stderr.trim() }
  const { status, stdout, stderr } = await run('make', ['-f', 'c/Makefile', ...programs])
  assert.equal(status, 0, `make failed (${status}):\n${stdout}${stderr}`)
  return { warnings: stdout + stderr }
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

/** @param {string} program @returns {Promise<Command | undefined>} a Node that can compile this WebAssembly */
async function nodeFor(program) {
  const valid = `WebAssembly.validate(require('node:fs').readFileSync(${JSON.stringify(program)}))`
  for (const node of nodes) {
    if ((await run(node.file, [...node.args, '-p', valid])).stdout.trim() === 'true') return node
  }
}

const NATIVE = all ? ['simd', 'relaxed'] : ['relaxed']
const WASM = all ? ['simd', 'relaxed'] : ['simd']

/** The native programs. They are compiled together, because they share most of tests/c. */
const native = make('native', ...NATIVE.map((code) => `build/c/native-${code}/test`))
native.catch(() => {}) // the tests report it

// Two programs at a time: each uses one core.
describe('the kernels', { concurrency: 2 }, () => {
  for (const code of NATIVE) {
    test(`natively, with the code of the ${code} build, under AddressSanitizer and UBSan`, async (t) => {
      const made = await native
      if ('reason' in made) return t.skip(made.reason)
      if (made.warnings) t.diagnostic(made.warnings)
      await report(t, `build/c/native-${code}/test`)
    })
  }

  for (const build of WASM) {
    test(`as WebAssembly, build ${build}`, async (t) => {
      const program = `build/c/${build}/test.wasm`
      const made = await make(build, program)
      if ('reason' in made) return t.skip(made.reason)
      if (made.warnings) t.diagnostic(made.warnings)
      const node = await nodeFor(program)
      if (!node) return t.skip('no Node here can run relaxed SIMD: Node 22 or later can')
      await report(t, node.file, [...node.args, '--no-warnings', 'tests/c/wasi.js', program])
    })
  }
})

// Newer compilers may fuse them in the relaxed build, and clang does natively: the bits would differ.
test('the compiler of the WebAssembly never fuses a product and a sum by itself', async () => {
  const flags = await run('./build.sh', ['flags', 'simd'])
  const probe = 'float probe(float a, float b, float c)'
  writeFileSync(join(root, 'build/probe-fused.c'), `${probe};\n${probe} { return a * b + c; }\n`)
  const args = [...flags.stdout.trim().split(' '), '-S', '-emit-llvm', '-o', '-', 'build/probe-fused.c']
  const { stdout, stderr } = await run('emcc', args)
  assert.match(stdout, /fmul float.*\n.*fadd float/, `c/flags.sh should forbid it:\n${stdout}${stderr}`)
})
