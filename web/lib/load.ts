import type { Gpt } from './gpt.ts'
import type { AnyWorker } from './threads/threads.ts'
import { GptLayersError, messageOf } from './errors.ts'
import { compile, runs, start } from './start.ts'
import { builds } from './wasm/builds.ts'

export type Build = 'simd' | 'relaxed'

/** The options of `load`. */
export interface LoadOptions {
  /**
   * the build to run. By default 'relaxed' where this machine has relaxed SIMD, otherwise 'simd'. 'relaxed'
   * has a multiply-add in one instruction, which rounds once; 'simd' gives the same bits on every machine.
   */
  build?: Build
  /**
   * the number of threads, 1 by default. More than 64 count as 64. Where threads are impossible,
   * `gpt.threads` is 1 and `gpt.threadsReason` says why.
   */
  threads?: number
  /**
   * the upper limit of the instance's memory in MiB, from 1 to 4096. The default is 4096. With threads the
   * default is the first of 4096, 2048, 1024 and 512 that the system allows: iPhones refuse the larger ones.
   */
  maxMemory?: number
  /**
   * a compiled `gpt-layers/simd.wasm` or `gpt-layers/relaxed.wasm`, or for threads
   * `gpt-layers/simd-threads.wasm` or `gpt-layers/relaxed-threads.wasm`, for when you fetch, cache or
   * verify it yourself.
   */
  module?: WebAssembly.Module
  /**
   * starts one worker, which should run `gpt-layers/worker.js`. It is called for each thread but the first.
   * Only for pages whose Content-Security-Policy forbids the package to start workers by itself, and for
   * files that you host yourself.
   */
  worker?: () => AnyWorker
}

/** The compiled builds by name. All instances of a build share one. */
const compiled: Map<string, Promise<WebAssembly.Module>> = new Map()

/**
 * Loads the layers: a new instance, independent of every other. Importing the package does nothing.
 *
 * @throws {GptLayersError} as a rejected promise: TYPE, VALUE; UNSUPPORTED where this machine has no
 *   WebAssembly SIMD, must not compile WebAssembly, or cannot run the given build; NETWORK; MEMORY
 * @example const gpt = await load()
 * @example const gpt = await load({ threads: 2 })
 */
export function load(options?: LoadOptions): Promise<Gpt>
export function load(...args: [LoadOptions?]): Promise<Gpt> {
  return start(args, (build, threads) => compileBuild(chooseBuild(build) + (threads ? '-threads' : '')), {
    threads: () => import('./threads/threads.ts'),
    torchfile: () => import('./checkpoint/torchfile.ts'),
  })
}

/** The build to run: the chosen one, or the best that this machine has. */
function chooseBuild(wanted: Build | undefined): Build {
  if (wanted === 'simd') return 'simd'
  const missing = !builds.relaxed
    ? 'this copy of gpt-layers was built without'
    : !runs('relaxed') && 'is missing here (Chrome 114, Node 22 or later have it)'
  if (!missing) return 'relaxed'
  if (wanted === undefined) return 'simd'
  throw new GptLayersError('UNSUPPORTED', `build 'relaxed' needs relaxed SIMD, which ${missing}`)
}

function compileBuild(name: string): Promise<WebAssembly.Module> {
  const known = compiled.get(name)
  if (known) return known
  const module = builds[name]()
    .catch((cause) => throwImportError(name, cause))
    .then(({ default: hex }) => compile(decode(hex)))
    .catch((error) => {
      compiled.delete(name) // so that the next call tries again
      throw error
    })
  compiled.set(name, module)
  return module
}

function throwImportError(name: string, cause: unknown): never {
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
    `the chunk with build '${name}' could not be imported (${messageOf(cause)}). ` +
      'Reload the page once the network is back, or the file on the server: a browser may remember the failure',
    { cause },
  )
}

/**
 * Decodes hexadecimal with the platform's own function where there is one: 0.2 ms. A loop takes 3 ms, because
 * the engine has not optimized it yet.
 */
function decode(hex: string): Uint8Array<ArrayBuffer> {
  if (Uint8Array.fromHex) return Uint8Array.fromHex(hex)
  if (globalThis.Buffer) return globalThis.Buffer.from(hex, 'hex')
  const digit = (code: number) => (code < 58 ? code - 48 : code - 87) // '0' is 48, 'a' is 97
  const bytes = new Uint8Array(hex.length / 2)
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = 16 * digit(hex.charCodeAt(2 * i)) + digit(hex.charCodeAt(2 * i + 1))
  }
  return bytes
}
