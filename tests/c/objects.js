// Compiles C natively for the code of both builds. What is unchanged is not compiled again, and a file that
// does not depend on the build is compiled once.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

/**
 * The environment of a native program. Kernels do not allocate, so nothing can leak; and the leak checker
 * fails where ptrace is forbidden. Before it aborts, the program names the case.
 */
export const SANITIZERS = {
  ASAN_OPTIONS: 'detect_leaks=0:abort_on_error=1',
  UBSAN_OPTIONS: 'print_stacktrace=1:abort_on_error=1',
}

/** Defined where the code of the relaxed build is compiled. A native compiler has no relaxed SIMD. */
const RELAXED = '__wasm_relaxed_simd__'

/**
 * The files that an object was made from, as the compiler lists them: `gelu.o: c/gelu.c c/simd.h`.
 *
 * @param {string} object
 * @returns {string[]}
 */
const inputsOf = (object) =>
  readFileSync(`${root}${object}.d`, 'utf8').replaceAll('\\\n', ' ').trim().split(/\s+/).slice(1)

/** @param {string} file */
const contents = (file) => readFileSync(root + file, 'utf8')

/**
 * Changes when the command or an input changes.
 *
 * @param {string[]} command
 * @param {string} object
 */
function stampOf(command, object) {
  const hash = createHash('sha256').update(command.join('\n'))
  for (const file of inputsOf(object)) hash.update(`\n${file}\n${existsSync(root + file) && contents(file)}`)
  return hash.digest('hex')
}

/**
 * Compiles one file, unless its object was made from exactly these inputs.
 *
 * @param {string[]} compiler with its flags
 * @param {string} source
 * @param {string} object its path
 * @returns {Promise<string>} the compiler's warnings
 */
async function compile([compiler, ...flags], source, object) {
  const args = [...flags, '-MMD', '-MF', `${object}.d`, '-c', '-o', object, source]
  const stamp = `${root}${object}.stamp`
  const isNew = () => readFileSync(stamp, 'utf8') === stampOf([compiler, ...args], object)
  if (existsSync(stamp) && existsSync(root + object) && isNew()) return ''
  mkdirSync(dirname(root + object), { recursive: true })
  writeFileSync(stamp, '') // if the compiler fails, the next run starts it again
  const { stderr } = await run(compiler, args, { cwd: root })
  writeFileSync(stamp, stampOf([compiler, ...args], object))
  return stderr
}

/**
 * Compiles files for both builds, one at a time for each core.
 *
 * @param {string[]} compiler with its flags
 * @param {string} folder where the objects are, in the root folder
 * @param {string[]} sources
 * @returns {Promise<{ simd: string[], relaxed: string[], warnings: string }>} the paths of the objects
 */
export async function compileBoth(compiler, folder, sources) {
  /** @type {{ simd: string[], relaxed: string[] }} */
  const objects = { simd: [], relaxed: [] }
  let warnings = ''
  const waiting = [...sources]
  const work = async () => {
    for (let source = waiting.pop(); source !== undefined; source = waiting.pop()) {
      const simd = `${folder}/simd/${source}.o`
      const relaxed = `${folder}/relaxed/${source}.o`
      warnings += await compile(compiler, source, simd)
      const differs = inputsOf(simd).some((file) => contents(file).includes(RELAXED))
      if (differs) warnings += await compile([...compiler, `-D${RELAXED}`], source, relaxed)
      objects.simd.push(simd)
      objects.relaxed.push(differs ? relaxed : simd)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return { ...objects, warnings }
}
