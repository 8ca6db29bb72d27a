/** @import { Gpt } from './gpt.js' */
/** @import { AnyWorker } from './threads/workers.js' */

import { GptLayersError } from './errors.js'
import { compile, runs, start } from './start.js'
import { builds } from './wasm/builds.js'

/** @typedef {'simd' | 'relaxed'} Build */

/**
 * The options of `load`.
 *
 * @typedef {object} LoadOptions
 * @property {Build} [build] the build to run. By default 'relaxed' where this machine has relaxed SIMD,
 *   otherwise 'simd'. 'relaxed' has a multiply-add in one instruction, which rounds once; 'simd' gives the
 *   same bits on every machine.
 * @property {number} [threads] the number of threads, 1 by default. More than 64 count as 64. Where threads
 *   are impossible, `gpt.threads` is 1 and `gpt.threadsReason` says why.
 * @property {number} [maxMemory] the upper limit of the instance's memory in MiB, 1 to 4096; 4096 by default.
 * @property {WebAssembly.Module} [module] a compiled `gpt-layers/simd.wasm` or `gpt-layers/relaxed.wasm`, or
 *   for threads `gpt-layers/simd-threads.wasm` or `gpt-layers/relaxed-threads.wasm`, for when you fetch,
 *   cache or verify it yourself.
 * @property {() => AnyWorker} [worker] starts one worker, which should run `gpt-layers/worker.js`. It is
 *   called for each thread but the first. Only for pages whose Content-Security-Policy forbids the package to
 *   start workers by itself, and for files that you host yourself.
 */

/**
 * The compiled builds by name. All instances of a build share one.
 *
 * @type {Map<string, Promise<WebAssembly.Module>>}
 */
const compiled = new Map()

/**
 * Loads the layers: a new instance, independent of every other. Importing the package does nothing.
 *
 * @param {LoadOptions} [options]
 * @returns {Promise<Gpt>}
 * @throws {GptLayersError} as a rejected promise: TYPE, VALUE; UNSUPPORTED where this machine has no
 *   WebAssembly SIMD, must not compile WebAssembly, or cannot run the given build; NETWORK; MEMORY
 * @example const gpt = await load()
 * @example const gpt = await load({ threads: 2 })
 */
export function load(options = {}) {
  return start(
    options,
    (build, threads) => compileBuild(chooseBuild(build) + (threads ? '-threads' : '')),
    () => import('./threads/threads.js'),
  )
}

/** @param {Build | undefined} wanted @returns {Build} the one to run */
function chooseBuild(wanted) {
  if (wanted === 'simd') return 'simd'
  const missing = !builds.relaxed
    ? 'this copy of gpt-layers was built without'
    : !runs('relaxed') && 'is missing here (Chrome 114, Node 22 or later have it)'
  if (!missing) return 'relaxed'
  if (wanted === undefined) return 'simd'
  throw new GptLayersError('UNSUPPORTED', `build 'relaxed' needs relaxed SIMD, which ${missing}`)
}

/**
 * @param {string} name of a chunk in wasm/
 * @returns {Promise<WebAssembly.Module>}
 */
function compileBuild(name) {
  const known = compiled.get(name)
  if (known) return known
  const importChunk = /** @type {NonNullable<(typeof builds)[string]>} */ (builds[name])
  const module = importChunk()
    .catch((cause) => throwImportError(name, cause))
    .then(({ default: hex }) => compile(decode(hex)))
    .catch((error) => {
      compiled.delete(name) // so that the next call tries again
      throw error
    })
  compiled.set(name, module)
  return module
}

/**
 * @param {string} name of the chunk that could not be imported
 * @param {unknown} cause
 * @returns {never}
 * @throws {GptLayersError} UNSUPPORTED, NETWORK
 */
function throwImportError(name, cause) {
  if ('ServiceWorkerGlobalScope' in globalThis || 'WorkletGlobalScope' in globalThis) {
    throw new GptLayersError(
      'UNSUPPORTED',
      'service workers and worklets must not use import(). Import load from gpt-layers/core, and ' +
        'pass a compiled gpt-layers/simd.wasm: load({ module })',
      { cause },
    )
  }
  throw new GptLayersError(
    'NETWORK',
    `the chunk with build '${name}' could not be imported (${/** @type {Error} */ (cause)?.message}). ` +
      'Reload the page once the network is back, or the file on the server: a browser may remember the failure',
    { cause },
  )
}

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
