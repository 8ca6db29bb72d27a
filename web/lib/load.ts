import type { AnyWorker } from './threads/threads.ts'
import { checkCount, checkFunction, checkOptions, describe, named, number, oneOf } from './check.ts'
import { fail, GptLayersError, messageOf, withName } from './errors.ts'
import { Memory } from './runtime/memory.ts'
import { type Build, type Exports, type Int8Kernel, type Started, begin, end } from './runtime/runtime.ts'
import { defineMethods } from './tensor/methods.ts'
import { type Wasm, tagOf } from './typed.ts'
import { builds } from './wasm/builds.ts'

/** The options of `load`. */
export interface LoadOptions {
  /**
   * the build to run. By default 'relaxed' where this machine has relaxed SIMD, otherwise 'simd'. 'relaxed'
   * has a multiply-add in one instruction, which rounds once; 'simd' gives the same bits on every machine.
   */
  build?: Build
  /**
   * how int8 is multiplied: by default what is faster here; `gpt.int8Kernel` says which. Both give the same
   * bits. 'dot' needs build 'relaxed'.
   */
  int8Kernel?: Int8Kernel
  /**
   * the number of threads, 1 by default. More than 64 count as 64. Where threads are impossible,
   * `gpt.threads` is 1 and `gpt.threadsReason` says why.
   */
  threads?: number
  /**
   * the upper limit of the memory in MiB, from 1 to 4096. The default is 4096. With threads the
   * default is the first of 4096, 2048, 1024 and 512 that the system allows: iPhones refuse the larger ones.
   */
  maxMemory?: number
  /**
   * a compiled `gpt-layers/simd.wasm` or `gpt-layers/relaxed.wasm`, or for threads
   * `gpt-layers/simd-threads.wasm` or `gpt-layers/relaxed-threads.wasm`, for when you fetch, cache or
   * verify it yourself.
   */
  module?: Wasm<'Module', object>
  /**
   * starts one worker, which should run `gpt-layers/worker.js`. It is called for each thread but the first.
   * Only for pages whose Content-Security-Policy forbids the package to start workers by itself, and for
   * files that you host yourself.
   */
  worker?: () => AnyWorker
}

const MIB = 1024 * 1024
const PAGE = 65536
const FIRST_PAGES = 16 // the builds' initial memory, see c/Makefile

/** Without `maxMemory`, these limits are tried in turn, in MiB. iPhones refuse the larger ones. */
const LIMITS = [4096, 2048, 1024, 512]

/**
 * WebAssembly modules of one function each, with an instruction of one feature. A machine without it rejects
 * them.
 */
const PROBES = {
  simd: '0061736d010000000105016000017b030201000a0a0108004100fd0ffd620b',
  relaxed: '0061736d010000000105016000017b030201000a130111004100fd0f4100fd0f4100fd0ffd85020b',
}

const runs = (probe: keyof typeof PROBES): boolean =>
  typeof WebAssembly === 'object' && WebAssembly.validate(decode(PROBES[probe]))

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

type Checked = Required<Pick<LoadOptions, 'threads'>> & Omit<LoadOptions, 'threads'>

/** What `load` has been asked for; null before the first call, and after `dispose`. */
let current: Loading | null = null

interface Loading {
  options: Checked
  loaded: Promise<void>
}

/** Gives the module where the user gave none. threads: whether it must be a build for threads. */
type GetModule = (build: Build | undefined, threads: boolean) => Promise<WebAssembly.Module>

/**
 * Starts the runtime. `load` of each entry of the package is this, with another source of the WebAssembly.
 *
 * @param args those of `load`; not yet checked
 */
export async function start(args: readonly unknown[], getModule: GetModule): Promise<void> {
  try {
    const options = checkLoadOptions(args)
    current ??= { options, loaded: startAnew(options, getModule, () => current === known) }
    const known: Loading = current
    for (const name of Object.keys(options) as (keyof Checked)[]) {
      const [first, now] = [known.options[name], options[name]]
      // `() => new Worker(url)` is a new function in each call. The workers run already.
      if (first === now || (typeof first === 'function' && typeof now === 'function')) continue
      const [wanted, got] = [describe(first), describe(now)]
      const expected = `be ${wanted}, as in the first load(), until dispose()`
      throw fail('VALUE', name, expected, got === wanted ? 'another one' : got)
    }
    await known.loaded.catch((error) => {
      if (current === known) current = null // so that the next call tries again
      throw error
    })
    if (current !== known) throw fail('DISPOSED', 'gpt-layers', 'stay loaded', 'a dispose() meanwhile')
  } catch (error) {
    throw withName(error, 'load')
  }
}

/**
 * Ends the threads and frees the memory. Every tensor counts as disposed afterwards. `load` may be called
 * again.
 */
export const dispose = /* @__PURE__ */ named('dispose', (): void => {
  current = null
  end()
})

function checkLoadOptions(args: readonly unknown[]): Checked {
  checkCount(args, 1)
  const defaults: Record<keyof LoadOptions, unknown> = {
    threads: 1,
    build: undefined,
    int8Kernel: undefined,
    maxMemory: undefined,
    module: undefined,
    worker: undefined,
  }
  return checkOptions(args[0], defaults, {
    build: oneOf('simd', 'relaxed'),
    int8Kernel: oneOf('dot', 'int16'),
    threads: number('a positive integer', (n) => Number.isInteger(n) && n >= 1),
    maxMemory: number('a number of MiB from 1 to 4096', (n) => n >= 1 && n <= 4096),
    module: (name, value) => {
      // of any realm
      if (tagOf(value) === 'WebAssembly.Module') return
      throw fail('TYPE', name, 'be a WebAssembly.Module', describe(value))
    },
    worker: (name, value) => checkFunction(name, value, 'a function that returns a new Worker'),
  }) as Checked
}

/** @param isWanted whether `dispose` was not called meanwhile */
async function startAnew(options: Checked, getModule: GetModule, isWanted: () => boolean): Promise<void> {
  const started = await prepare(options, getModule)
  if (isWanted()) {
    defineMethods()
    begin(started)
  } else if (typeof started.pool !== 'string') started.pool.dispose()
}

async function prepare(
  { build, int8Kernel, threads, maxMemory, module, worker }: Checked,
  getModule: GetModule,
): Promise<Started> {
  if (!runs('simd')) {
    throw new GptLayersError(
      'UNSUPPORTED',
      'needs WebAssembly with SIMD (Chrome 91, Firefox 89, Safari 16.4, Node 16.4 or later), which is missing here',
    )
  }
  const chunk =
    threads === 1
      ? 'load was asked for one thread'
      : await import('./threads/threads.ts').catch(
          (error) => `the code that starts workers could not be imported (${messageOf(error)})`,
        )
  const mayShare = typeof chunk !== 'string' && chunk.whyOneThread(worker) === null
  const limits = maxMemory === undefined ? LIMITS : [maxMemory]
  const shared = (module ? importsMemory(module) : mayShare) ? shareMemory(limits) : null
  const code = module ?? (await getModule(build, shared !== null))
  const exports = await instantiate(code, shared?.memory ?? null)
  const actual = exports.gpt_is_relaxed() === 1 ? 'relaxed' : 'simd'
  if (build !== undefined && build !== actual) {
    throw fail('VALUE', 'module', `be build '${build}' as asked for`, `'${actual}'`)
  }
  if (int8Kernel === 'dot' && actual === 'simd') {
    throw fail('VALUE', 'int8Kernel', "be 'int16' in build 'simd'", "'dot'")
  }
  const maxBytes = Math.floor((shared?.limit ?? limits[0]) * MIB)
  const memory = new Memory(exports.memory, exports.__heap_base.value, maxBytes)
  const pool =
    typeof chunk === 'string'
      ? chunk
      : await chunk.startThreads(
          { exports, memory, code, threads, worker },
          shared !== null,
          module ? [] : limits,
        )
  const fastest = exports.gpt_dot_is_fast() === 1 ? 'dot' : 'int16'
  return { exports, build: actual, int8Kernel: int8Kernel ?? fastest, memory, pool }
}

function importsMemory(module: WebAssembly.Module): boolean {
  const [memory, ...rest] = WebAssembly.Module.imports(module)
  return rest.length === 0 && memory?.module === 'env' && memory.name === 'memory' && memory.kind === 'memory'
}

/**
 * Makes a shared memory with the first of some limits that the system allows.
 *
 * @param limits in MiB
 * @returns null where it allows none
 */
function shareMemory(limits: readonly number[]): { memory: WebAssembly.Memory; limit: number } | null {
  for (const limit of limits) {
    try {
      const maximum = Math.floor((limit * MIB) / PAGE)
      return { memory: new WebAssembly.Memory({ initial: FIRST_PAGES, maximum, shared: true }), limit }
    } catch {
      // The next limit.
    }
  }
  return null
}

/** The compiled builds by name: `load` after `dispose` needs no second download. */
const compiled: Map<string, Promise<WebAssembly.Module>> = new Map()

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
    .then(({ default: hex }) => WebAssembly.compile(decode(hex)).catch(refused))
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

/** @param shared the memory that the module imports; null where it has its own */
async function instantiate(module: WebAssembly.Module, shared: WebAssembly.Memory | null): Promise<Exports> {
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
  return (shared ? Object.freeze({ ...exports, memory: shared }) : exports) as unknown as Exports
}

/** The engine has refused one of our builds. */
function refused(cause: unknown): never {
  if (Object(cause).name === 'RangeError') {
    throw fail('MEMORY', 'the first 1 MiB of memory', 'be available, and is not', null, cause)
  }
  throw new GptLayersError(
    'UNSUPPORTED',
    "WebAssembly may not be compiled here. In a page, add 'wasm-unsafe-eval' to script-src of its " +
      'Content-Security-Policy. Elsewhere, import gpt-layers/simd.wasm and pass it: load({ module })',
    { cause },
  )
}
