// The fuzzer of the kernels as two programs, one for each build's code: clang's libFuzzer with
// AddressSanitizer and UBSan.

import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = 'build/fuzz/' // of the inputs that the programs found

/**
 * Runs a program in the root folder.
 *
 * @param {string} file
 * @param {string[]} args
 * @returns {Promise<{ passed: boolean, output: string }>}
 */
function run(file, args) {
  return new Promise((resolve) => {
    execFile(file, args, { cwd: root, maxBuffer: 2 ** 27 }, (error, stdout, stderr) => {
      resolve({ passed: !error, output: stdout + stderr })
    })
  })
}

/**
 * Compiles the programs.
 *
 * @param {('simd' | 'relaxed')[]} [codes] the builds whose code they run
 * @returns {Promise<{ programs: string[] } | { reason: string }>} their paths, or why this system has none
 */
export async function compile(codes = ['simd', 'relaxed']) {
  const flags = await run('./build.sh', ['flags', 'fuzz'])
  if (!flags.passed) return { reason: flags.output.trim() }
  const programs = codes.map((code) => `build/c/fuzz-${code}/fuzz`)
  const { passed, output } = await run('make', ['-f', 'c/Makefile', ...programs])
  if (!passed) throw new Error(`make failed:\n${output}`)
  mkdirSync(root + folder, { recursive: true })
  return { programs }
}

/**
 * @param {string} output the output of a program
 * @returns {string} what it found: the broken promise, or the report of a sanitizer
 */
function finding(output) {
  const lines = output.split('\n')
  const first = lines.findIndex((line) => /^gpt_|runtime error|^==\d+==\s*ERROR/.test(line))
  const input = /Test unit written to (\S+)/.exec(output)?.[1]
  const replay = input ? `\nreplay: node tests/fuzz/fuzz.js kernels --replay ${input}` : ''
  return lines.slice(Math.max(0, first)).slice(0, 30).join('\n') + replay
}

/**
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<{ count: number, finding: string | null }>} the calls of kernels
 */
async function calls(program, args) {
  // seconds after which a loop counts as endless
  const { passed, output } = await run(program, ['-timeout=60', `-artifact_prefix=${folder}`, ...args])
  const count = Number(/^(\d+) kernel calls$/m.exec(output)?.[1] ?? 0)
  return { count, finding: passed && count > 0 ? null : finding(output) }
}

/**
 * Runs a program on random inputs, the same for the same seed. libFuzzer takes the seed 0 as "any".
 *
 * @param {string} program
 * @param {number} seed below 2^32
 * @param {number} inputs how many
 */
export const fuzz = (program, seed, inputs) =>
  calls(program, [`-seed=${(seed % (2 ** 32 - 1)) + 1}`, `-runs=${inputs}`, '-max_len=1000'])

/** Runs a program on stored inputs. @param {string} program @param {string[]} inputs files, or folders of files */
export const replay = (program, inputs) => calls(program, ['-runs=0', ...inputs])

const INPUTS = 4000 // of a batch: about a million calls
let batches = 0
/** @type {ReturnType<typeof compile> | null} */
let compiled = null

/** @returns {Promise<string[]>} the programs */
async function programs() {
  const built = await (compiled ??= compile())
  if ('programs' in built) return built.programs
  console.log(`kernels: not run: ${built.reason}`)
  process.exit(0)
}

/** @type {import('./fuzz.js').Fuzzer} */
export const fuzzer = {
  unit: 'kernel calls',
  /** The builds in turn. */
  async batch(seed) {
    const all = await programs()
    return fuzz(all[batches++ % all.length], seed, INPUTS)
  },
  async replay(input) {
    const results = await Promise.all((await programs()).map((program) => replay(program, [input])))
    return results.map(({ finding }) => finding).find((finding) => finding !== null) ?? null
  },
}
