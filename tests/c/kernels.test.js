/**
 * The kernels' own tests, written in C beside this file, in both worlds: natively under AddressSanitizer and
 * UBSan, and as WebAssembly, where the instructions are the real ones. Each promise of the C program
 * is a subtest.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const sources = ['c', 'tests/c'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.c'))
    .map((name) => join(folder, name)),
)
const language = [
  '-std=c11',
  '-Wall',
  '-Wextra',
  '-Werror',
  '-Wshadow',
  '-Wconversion',
  '-Wstrict-prototypes',
  '-Wmissing-prototypes',
]

mkdirSync(join(root, 'build'), { recursive: true })

/**
 * Runs a program in the root folder, for at most `seconds`.
 *
 * @param {string} file
 * @param {string[]} args
 * @param {number} seconds
 * @returns {Promise<{ status: number | string, stdout: string, stderr: string }>} status: the exit code,
 *   or else the signal that ended it or the error that kept it from starting
 */
function run(file, args, seconds) {
  // The kernels have no malloc to leak from, and the leak checker does not start where ptrace is forbidden.
  const env = { ...process.env, ASAN_OPTIONS: 'detect_leaks=0', UBSAN_OPTIONS: 'print_stacktrace=1' }
  const options = { cwd: root, env, timeout: seconds * 1000, maxBuffer: 2 ** 24 }
  return new Promise((resolve) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      resolve({ status: error ? (error.code ?? error.signal ?? error.message) : 0, stdout, stderr })
    })
  })
}

/**
 * @param {string} compiler
 * @param {string[]} args
 */
async function compile(compiler, args) {
  // Seconds, but for an Emscripten that has yet to build its C library.
  const { status, stdout, stderr } = await run(compiler, [...language, ...args, ...sources, '-lm'], 300)
  assert.equal(status, 0, `${compiler} failed (${status}):\n${stdout}${stderr}`)
}

/**
 * Each line `ok - name` or `not ok - name: why` as a subtest, and one more for how the program ended:
 * a crash, a sanitizer's report and a hang leave no summary.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} file
 * @param {string[]} args
 */
async function report(t, file, args) {
  const { status, stdout, stderr } = await run(file, args, 120)
  const promises = [...stdout.matchAll(/^(ok|not ok) - (.+?)(?:: (.+))?$/gm)]
  for (const [, verdict, name, why] of promises) {
    await t.test(name, () => assert.ok(verdict === 'ok', why))
  }
  await t.test('the program runs to its end', () => {
    const summary = /^(\d+) passed, (\d+) failed\n$/m.exec(stdout)
    const last = promises.at(-1)?.[2] ?? 'nothing'
    assert.ok(summary, `ended with ${status} after "${last}":\n${stderr || stdout.slice(-2000)}`)
    const [passed, failed] = summary.slice(1).map(Number)
    assert.equal(promises.length, passed + failed, stdout)
    assert.equal(status, failed ? 1 : 0, stderr)
  })
}

test('the kernels, natively under AddressSanitizer and UBSan', async (t) => {
  const program = join(root, 'build/test-kernels')
  await compile(process.env.CC ?? 'gcc', [
    '-O1',
    '-g',
    '-fsanitize=address,undefined',
    '-fno-sanitize-recover=all',
    '-fno-omit-frame-pointer',
    '-ffp-contract=off',
    '-Ic',
    '-Itests/c',
    '-o',
    program,
  ])
  await report(t, program, [])
})

/** emcc from the PATH, or else from an emsdk folder, as build.sh finds it. */
function findEmcc() {
  const onPath = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'emcc')))
  return onPath || !process.env.EMSDK ? 'emcc' : join(process.env.EMSDK, 'upstream/emscripten/emcc')
}

test('the kernels as WebAssembly', async (t) => {
  const program = join(root, 'build/test-kernels.wasm')
  // The flags of build_wasm in build.sh, but with malloc and a fixed memory, for the tests. tests/c is not on
  // the include path: its wasm_simd128.h is for native compilers.
  await compile(findEmcc(), [
    '-O2',
    '-msimd128',
    '-fno-vectorize',
    '-fno-slp-vectorize',
    '-ffp-contract=off',
    '-fno-math-errno',
    '-Ic',
    '-sSTANDALONE_WASM',
    '-sINITIAL_MEMORY=256MB',
    '-o',
    program,
  ])
  await report(t, process.execPath, ['--no-warnings', join(root, 'tests/c/wasi.js'), program])
})
