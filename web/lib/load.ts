import type { Build } from './runtime/runtime.ts'
import { GptLayersError, messageOf } from './errors.ts'
import { type LoadOptions, compile, runs, start } from './start.ts'
import { builds } from './wasm/builds.ts'

/** The compiled builds by name: `load` after `dispose` needs no second download. */
const compiled: Map<string, Promise<WebAssembly.Module>> = new Map()

/**
 * Loads the WebAssembly, in which all tensors lie and all layers compute. Importing the package does nothing.
 * Call it once, and await it, before all else. Another call with the same options does nothing.
 *
 * @throws {GptLayersError} as a rejected promise: VALUE also for other options than the first call's, until
 *   `dispose`; UNSUPPORTED where this machine has no WebAssembly SIMD, must not compile WebAssembly, or
 *   cannot run the given build; DISPOSED where `dispose` is called meanwhile
 * @example await load()
 * @example await load({ threads: 2 })
 */
export function load(options?: LoadOptions): Promise<void>
export function load(...args: [LoadOptions?]): Promise<void> {
  return start(args, (build, threads) => compileBuild(chooseBuild(build) + (threads ? '-threads' : '')))
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
