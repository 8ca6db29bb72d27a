/** @import { Build } from './load.js' */
/** @import { Exports } from './runtime/runtime.js' */
/** @import { startPool } from './threads/threads.js' */
/** @import { AnyWorker } from './threads/workers.js' */

import { checkChoice, checkNumber, checkOptions, describe } from './check.js'
import { fail, GptLayersError, withName } from './errors.js'
import { Gpt } from './gpt.js'
import { Memory } from './runtime/memory.js'
import { Runtime } from './runtime/runtime.js'
import { warnOnce } from './threads/warn.js'

const MIB = 1024 * 1024
const PAGE = 65536
const FIRST_PAGES = 16 // the builds' initial memory, see build.sh
const MAX_THREADS = 64

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
export const runs = (probe) =>
  typeof WebAssembly === 'object' && WebAssembly.validate(new Uint8Array(PROBES[probe]))

/**
 * Loads an instance. `load` of each entry of the package is this, with another source of the WebAssembly.
 *
 * @param {object} options as `load` takes them; not yet checked
 * @param {(build: Build | undefined, threads: boolean) => Promise<WebAssembly.Module>} getModule gives the
 *   module where the user gave none. threads: whether it must be a build for threads
 * @param {() => Promise<{ startPool: typeof startPool }>} importThreads called where there may be threads
 * @returns {Promise<Gpt>}
 */
export const start = (options, getModule, importThreads) =>
  startUnnamed(options, getModule, importThreads).catch((error) => {
    throw withName(error, 'load')
  })

/** @type {typeof start} */
async function startUnnamed(options, getModule, importThreads) {
  const { build, threads, maxMemory, module, worker } = checkOptions(options, {
    build: /** @type {unknown} */ (undefined),
    threads: /** @type {unknown} */ (1),
    maxMemory: /** @type {unknown} */ (4096),
    module: /** @type {unknown} */ (undefined),
    worker: /** @type {unknown} */ (undefined),
  })
  if (build !== undefined) checkChoice('build', build, /** @type {const} */ (['simd', 'relaxed']))
  checkNumber('threads', threads, 'a positive integer', (n) => Number.isInteger(n) && n >= 1)
  checkNumber('maxMemory', maxMemory, 'a number of MiB from 1 to 4096', (n) => n >= 1 && n <= 4096)
  if (worker !== undefined && typeof worker !== 'function') {
    const expected = 'a function that returns a new Worker'
    throw fail('TYPE', 'worker', `be ${expected}`, describe(worker))
  }
  if (!runs('simd')) {
    throw new GptLayersError(
      'UNSUPPORTED',
      'needs WebAssembly with SIMD (Chrome 91, Firefox 89, Safari 16.4, Node 16.4 or later), which is missing here',
    )
  }
  if (module !== undefined && !isModule(module)) {
    throw fail('TYPE', 'module', 'be a WebAssembly.Module', describe(module))
  }
  const createWorker = /** @type {(() => AnyWorker) | undefined} */ (worker)
  const maxBytes = Math.floor(maxMemory * MIB)
  let reason = whyOneThread(threads, createWorker)
  const shared = (module ? importsMemory(module) : !reason) ? shareMemory(maxBytes) : null
  const code = module ?? (await getModule(build, shared !== null))
  const exports = await instantiate(code, shared)
  const actual = exports.gpt_is_relaxed() === 1 ? 'relaxed' : 'simd'
  if (build !== undefined && build !== actual) {
    throw fail('VALUE', 'module', `be build '${build}' as asked for`, `'${actual}'`)
  }
  const runtime = new Runtime(exports, new Memory(exports.memory, exports.__heap_base.value, maxBytes))
  if (!reason && !shared) {
    reason = module
      ? 'the given module is a build without threads: pass gpt-layers/simd-threads.wasm or gpt-layers/relaxed-threads.wasm'
      : `the system does not reserve ${maxMemory} MiB of addresses for a shared memory: lower maxMemory`
  }
  reason ??= await startThreads(runtime, importThreads, [code, Math.min(threads, MAX_THREADS), createWorker])
  if (reason) {
    runtime.explainOneThread(reason)
    if (threads > 1) warnOnce(`one thread runs, because ${reason}`)
  }
  return new Gpt(runtime, actual)
}

/**
 * @param {number} threads
 * @param {(() => AnyWorker) | undefined} createWorker
 * @returns {string | null} null where threads may be possible
 */
function whyOneThread(threads, createWorker) {
  const { process, crossOriginIsolated } = /** @type {any} */ (globalThis)
  if (threads === 1) return 'load was asked for one thread'
  if (!createWorker && !process?.getBuiltinModule && typeof Worker !== 'function') {
    return process?.versions?.node
      ? `Node ${process.versions.node} is too old: 20.16, 22.3 or later can start workers`
      : 'workers cannot be started here, as in a service worker'
  }
  if (crossOriginIsolated === false) {
    return (
      'the page is not cross-origin isolated: serve it with the headers ' +
      'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp'
    )
  }
  if (typeof SharedArrayBuffer !== 'function') return 'SharedArrayBuffer is missing here'
  return runs('threads') ? null : 'WebAssembly has no threads here'
}

/**
 * @param {Runtime} runtime whose memory is shared
 * @param {() => Promise<{ startPool: typeof startPool }>} importThreads
 * @param {[WebAssembly.Module, number, (() => AnyWorker)?]} args of `startPool`, after the runtime
 * @returns {Promise<string | null>} why there is one thread; null where all run
 * @throws {GptLayersError} MEMORY
 */
async function startThreads(runtime, importThreads, args) {
  const chunk = await importThreads().catch(String)
  if (typeof chunk === 'string') return `the code that starts workers could not be imported (${chunk})`
  const pool = await chunk.startPool(runtime, ...args)
  if (pool.threads > 1) runtime.usePool(pool)
  return pool.reason
}

/** @param {unknown} value @returns {value is WebAssembly.Module} of any realm */
function isModule(value) {
  try {
    return Boolean(WebAssembly.Module.exports(/** @type {WebAssembly.Module} */ (value)))
  } catch {
    return false
  }
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

/** @param {Uint8Array<ArrayBuffer>} bytes of one of our builds @returns {Promise<WebAssembly.Module>} */
export const compile = (bytes) => WebAssembly.compile(bytes).catch(refused)

/**
 * @param {WebAssembly.Module} module
 * @param {WebAssembly.Memory | null} shared the memory that the module imports; null where it has its own
 * @returns {Promise<Exports>}
 */
async function instantiate(module, shared) {
  const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name))
  const isOurs = names.has('memory') ? WebAssembly.Module.imports(module).length === 0 : importsMemory(module)
  if (!isOurs || !names.has('gpt_is_relaxed')) {
    throw fail('VALUE', 'module', 'be a build of gpt-layers', 'another WebAssembly.Module')
  }
  if (importsMemory(module) && !shared) {
    throw new GptLayersError(
      'MEMORY',
      'module is a build for threads and needs a shared memory of maxMemory MiB, which is refused here',
    )
  }
  const imports = shared ? { env: { memory: shared } } : undefined
  const { exports } = await WebAssembly.instantiate(module, imports).catch(refused)
  return /** @type {any} */ (shared ? Object.freeze({ ...exports, memory: shared }) : exports)
}

/**
 * The engine has refused one of our builds.
 *
 * @param {unknown} cause
 * @returns {never}
 * @throws {GptLayersError} MEMORY, UNSUPPORTED
 */
function refused(cause) {
  if (/** @type {Error} */ (cause)?.name === 'RangeError') {
    throw fail('MEMORY', 'the first 1 MiB of memory', 'be available, and is not', null, cause)
  }
  throw new GptLayersError(
    'UNSUPPORTED',
    "load: WebAssembly may not be compiled here. In a page, add 'wasm-unsafe-eval' to script-src of its " +
      'Content-Security-Policy. Elsewhere, import gpt-layers/simd.wasm and pass it: load({ module })',
    { cause },
  )
}
