/** @import { Exports } from './runtime/runtime.js' */

import { checkChoice, checkNumber, checkOptions, describe } from './check.js'
import { GptLayersError } from './errors.js'
import { Gpt } from './gpt.js'
import { Runtime } from './runtime/runtime.js'
import { builds } from './wasm/builds.js'

const MIB = 1024 * 1024
const PAGE = 65536
const FIRST_PAGES = 16 // the builds' initial memory, see build.sh
const MAX_THREADS = 64

/** @typedef {'simd' | 'relaxed'} Build */

/**
 * WebAssembly modules of one function each, with an instruction of one feature. A machine without it rejects
 * them.
 */
const PROBES = {
  simd: [
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98,
    11,
  ],
  relaxed: [
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 15, 65, 0,
    253, 15, 65, 0, 253, 15, 253, 133, 2, 11,
  ],
  threads: [
    0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 5, 4, 1, 3, 1, 1, 10, 21, 1, 19, 0, 65, 0, 65,
    0, 254, 23, 2, 0, 65, 0, 65, 0, 65, 0, 252, 11, 0, 11,
  ],
}

/** @param {keyof typeof PROBES} probe @returns {boolean} whether this machine has the feature */
const runs = (probe) => typeof WebAssembly === 'object' && WebAssembly.validate(new Uint8Array(PROBES[probe]))

/**
 * The compiled builds by name. All instances of a build share one.
 *
 * @type {Map<string, Promise<WebAssembly.Module>>}
 */
const compiled = new Map()

/**
 * Decodes hexadecimal with the platform's own function where there is one: 0.2 ms. A loop takes 3 ms, because
 * the engine has not optimized it yet.
 *
 * @param {string} hex
 * @returns {Uint8Array<ArrayBuffer>}
 */
function decode(hex) {
  const platform = /** @type {any} */ (globalThis)
  if (platform.Uint8Array.fromHex) return platform.Uint8Array.fromHex(hex)
  if (platform.Buffer) return platform.Buffer.from(hex, 'hex')
  const digit = (/** @type {number} */ code) => (code < 58 ? code - 48 : code - 87) // '0' is 48, 'a' is 97
  const bytes = new Uint8Array(hex.length / 2)
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = 16 * digit(hex.charCodeAt(2 * i)) + digit(hex.charCodeAt(2 * i + 1))
  }
  return bytes
}

/**
 * @param {string} name of a chunk in wasm/
 * @returns {Promise<WebAssembly.Module>}
 */
function compile(name) {
  const known = compiled.get(name)
  if (known) return known
  const importChunk = /** @type {NonNullable<(typeof builds)[string]>} */ (builds[name])
  const module = importChunk()
    .then(({ default: hex }) => WebAssembly.compile(decode(hex)))
    .catch((error) => {
      compiled.delete(name) // so that the next call tries again, for example after a failed download
      throw error
    })
  compiled.set(name, module)
  return module
}

/**
 * Loads the layers: a new instance, independent of every other. Importing the package does nothing.
 *
 * @param {{ build?: Build, threads?: number, maxMemory?: number, module?: WebAssembly.Module }} [options]
 *   - build: the build to run. By default 'relaxed' where this machine has relaxed SIMD, otherwise 'simd'.
 *     'relaxed' has a multiply-add in one instruction, which rounds once; 'simd' gives the same bits on every
 *     machine.
 *   - threads: the number of threads, 1 to 64; 1 by default. `gpt.threads` is 1 where threads are impossible:
 *     in a page that is not cross-origin isolated, or in an application whose bundler leaves out workers.
 *   - maxMemory: the upper limit of the instance's memory in MiB, 1 to 4096; 4096 by default.
 *   - module: a compiled `gpt-layers/simd.wasm` or `gpt-layers/relaxed.wasm`, or for threads
 *     `gpt-layers/simd-threads.wasm` or `gpt-layers/relaxed-threads.wasm`, for when you fetch, cache or
 *     verify it yourself.
 * @returns {Promise<Gpt>}
 * @throws {GptLayersError} as a rejected promise: TYPE, VALUE; UNSUPPORTED where this machine has no
 *   WebAssembly SIMD or cannot run the given build; MEMORY
 * @example const gpt = await load()
 */
export async function load(options = {}) {
  const { build, threads, maxMemory, module } = checkOptions('load', options, {
    build: /** @type {unknown} */ (undefined),
    threads: /** @type {unknown} */ (1),
    maxMemory: /** @type {unknown} */ (4096),
    module: /** @type {unknown} */ (undefined),
  })
  if (build !== undefined) checkChoice('load', 'build', build, /** @type {const} */ (['simd', 'relaxed']))
  checkNumber('load', 'threads', threads, `an integer from 1 to ${MAX_THREADS}`, isThreads)
  checkNumber('load', 'maxMemory', maxMemory, 'a number of MiB from 1 to 4096', (n) => n >= 1 && n <= 4096)
  if (module !== undefined && !(module instanceof WebAssembly.Module)) {
    throw new GptLayersError('TYPE', `load: module should be a WebAssembly.Module, got ${describe(module)}`)
  }
  if (!runs('simd')) {
    throw new GptLayersError(
      'UNSUPPORTED',
      'load: needs WebAssembly with SIMD (Chrome 91, Firefox 89, Safari 16.4, Node 16.4 or later), which is missing here',
    )
  }
  const chosen = chooseBuild(build, module)
  const maxBytes = Math.floor(maxMemory * MIB)
  const shared = (module ? importsMemory(module) : threads > 1 && canShare()) ? shareMemory(maxBytes) : null
  const code = module ?? (await compile(shared ? `${chosen}-threads` : chosen))
  const exports = await instantiate(code, shared)
  const actual = exports.gpt_is_relaxed() === 1 ? 'relaxed' : 'simd'
  if (build !== undefined && build !== actual) {
    throw new GptLayersError('VALUE', `load: module should be build '${build}' as asked for, got '${actual}'`)
  }
  const runtime = new Runtime(exports, maxBytes)
  if (shared && threads > 1 && canShare()) {
    const { Pool } = await import('./threads/pool.js')
    runtime.usePool(await Pool.start(runtime, code, threads))
  }
  return new Gpt(runtime, actual)
}

/** @param {number} n */
const isThreads = (n) => Number.isInteger(n) && n >= 1 && n <= MAX_THREADS

/**
 * @param {Build | undefined} wanted
 * @param {WebAssembly.Module | undefined} module
 * @returns {Build} the one to run; without meaning where the user gives the module
 */
function chooseBuild(wanted, module) {
  if (wanted === 'simd' || module) return 'simd'
  const missing = !builds.relaxed
    ? 'this copy of gpt-layers was built without'
    : !runs('relaxed') && 'is missing here (Chrome 114, Node 22 or later have it)'
  if (!missing) return 'relaxed'
  if (wanted === undefined) return 'simd'
  throw new GptLayersError('UNSUPPORTED', `load: build 'relaxed' needs relaxed SIMD, which ${missing}`)
}

/** @returns {boolean} whether threads can share memory; a page must be cross-origin isolated */
function canShare() {
  return (
    runs('threads') && typeof SharedArrayBuffer === 'function' && globalThis.crossOriginIsolated !== false
  )
}

/** @param {WebAssembly.Module} module @returns {boolean} whether it is a build for threads */
function importsMemory(module) {
  const [memory, ...rest] = WebAssembly.Module.imports(module)
  return rest.length === 0 && memory?.module === 'env' && memory.name === 'memory' && memory.kind === 'memory'
}

/**
 * @param {number} maxBytes
 * @returns {WebAssembly.Memory | null} null where the system does not reserve that much address space
 */
function shareMemory(maxBytes) {
  try {
    return new WebAssembly.Memory({
      initial: FIRST_PAGES,
      maximum: Math.floor(maxBytes / PAGE),
      shared: true,
    })
  } catch {
    return null
  }
}

/**
 * @param {WebAssembly.Module} module
 * @param {WebAssembly.Memory | null} shared the memory that the module imports; null where it has its own
 * @returns {Promise<Exports>}
 */
async function instantiate(module, shared) {
  const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name))
  const isOurs = names.has('memory') ? WebAssembly.Module.imports(module).length === 0 : importsMemory(module)
  if (!isOurs || !names.has('gpt_is_relaxed')) {
    throw new GptLayersError(
      'VALUE',
      'load: module should be a build of gpt-layers, got another WebAssembly.Module',
    )
  }
  try {
    const { exports } = await WebAssembly.instantiate(
      module,
      shared ? { env: { memory: shared } } : undefined,
    )
    return /** @type {any} */ (shared ? Object.freeze({ ...exports, memory: shared }) : exports)
  } catch (cause) {
    throw new GptLayersError('MEMORY', 'load: the first 1 MiB of memory should be available, and is not', {
      cause,
    })
  }
}
