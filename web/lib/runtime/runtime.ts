import type { Imports } from '../imports.ts'
import type { Kernel, Pool } from '../threads/pool.ts'
import type { Memory } from './memory.ts'
import type { Functions } from '../wasm/exports.ts'
import { fail, GptLayersError } from '../errors.ts'
import { KERNELS } from './kernels.ts'
import { Generator } from './random.ts'
import { survivors } from './scope.ts'
import { newestStep } from './tape.ts'

/** The exports of one of our WebAssembly builds: the functions of `c/gpt_layers.h` and the memory. */
export interface Exports extends Functions {
  memory: WebAssembly.Memory
  /** the address from which on memory is free */
  __heap_base: WebAssembly.Global
}

/** The name of a function of `c/gpt_layers.h`. */
export type FunctionName = keyof Functions

/** A place in the heap: a tensor, or any object that says where its data begin. */
export type Pointer = { readonly byteOffset: number }

/** The property under which the classes of an instance have its runtime. */
export const RUNTIME = Symbol('runtime')

/** GPT_ERR_VALUE of c/gpt_layers.h. */
const ERR_VALUE = -3

/** Stands for a kernel's scratch memory among the arguments of `Runtime.run`, which provides and frees it. */
export const SCRATCH = Symbol('scratch')

/** An argument of `Runtime.run`. */
type Argument = Pointer | null | typeof SCRATCH | number | boolean

/**
 * Calls shorter than this, in nanoseconds on one thread, are not shared. Two threads add 3 µs to a call, and
 * a worker that sleeps starts 10 to 20 µs late.
 *
 * | GELU on one thread | on two, called again at once | after 0.2 ms | after 2 ms |
 * | --- | --- | --- | --- |
 * | 19 µs | 11 µs | 14 µs | 21 µs |
 * | 70 µs | 37 µs | 40 µs | 46 µs |
 */
const WORTH_SHARING = 20_000

/** Ends the workers of an instance that the garbage collector has freed. */
const abandoned: FinalizationRegistry<Pool> = new FinalizationRegistry((pool) => pool.dispose())

/** One instance of the WebAssembly: its kernels, its heap, its random generator and its threads. */
export class Runtime {
  #pool: Pool | null = null
  /** Why there is no pool. */
  reason: string | null = null
  /** Whether the parameters of our layers are made as meta tensors, without memory; see Tensor.parameter. */
  meta = false

  /** Whether operations are recorded on the tape; see tape.ts. */
  recordsGradients = true

  exports: Exports
  memory: Memory
  generator: Generator

  imports: Imports

  constructor(exports: Exports, memory: Memory, imports: Imports) {
    this.exports = exports
    this.imports = imports
    this.memory = memory
    this.generator = new Generator(this)
  }

  /** The number of threads, the caller's included. */
  get threads(): number {
    return this.#pool?.threads ?? 1
  }

  /** Why there is one thread; null where there are more. */
  get threadsReason(): string | null {
    return this.#pool?.reason ?? this.reason
  }

  /** @param pool of workers that share this runtime's memory; ends with this runtime */
  usePool(pool: Pool): void {
    this.#pool = pool
    abandoned.register(this, pool)
  }

  /**
   * Calls a kernel with the arguments that `c/gpt_layers.h` declares, in the same order, without `part` and
   * `parts`. Cuts the call into parts for the threads where that pays; the result has the same bits.
   *
   * | argument | becomes |
   * | --- | --- |
   * | Tensor or other Pointer | its byte offset |
   * | null | 0, C's NULL |
   * | SCRATCH | scratch memory of the size that kernels.ts states, freed after the call |
   * | boolean | 0 or 1 |
   *
   * @throws {GptLayersError} DISPOSED; MEMORY for the scratch; INTERNAL where the kernel refuses its
   *   arguments, or a thread does not finish its part in time. That thread may still write, so the memory of
   *   all arguments is retired, and who holds an output from before the call must give it up
   */
  run(kernel: FunctionName, args: readonly Argument[]): void {
    this.memory.checkLive()
    const values: number[] = []
    let scratchAt = -1
    for (let i = 0; i < args.length; i++) {
      const arg = args[i]
      if (arg === SCRATCH) scratchAt = i
      values.push(toNumber(arg))
    }
    // The fast way for small calls.
    if (scratchAt < 0 && this.#pool === null) return this.#call(kernel, args, values, 1)
    const sizes = args.filter((arg) => typeof arg === 'number')
    const parts = this.partsOf(kernel, ...sizes)
    if (scratchAt < 0) return this.#call(kernel, args, values, parts)
    const size = KERNELS[kernel]?.scratch?.(this.exports, ...sizes) ?? 0
    const floats = size >>> 0 // unsigned: SIZE_MAX, for no such scratch, is -1
    const scratch = this.memory.allocate(4 * parts * floats)
    values[scratchAt] = scratch
    try {
      this.#call(kernel, args, values, parts)
    } finally {
      this.memory.free(scratch)
    }
  }

  /**
   * Calls a kernel that judges values, in one piece.
   *
   * @returns false where the kernel refuses a value
   * @throws {GptLayersError} DISPOSED; INTERNAL where it refuses its arguments otherwise
   */
  accepts(kernel: FunctionName, args: readonly (Pointer | number)[]): boolean {
    this.memory.checkLive()
    const call: Kernel = this.exports[kernel]
    const status = call(...args.map(toNumber))
    if (status === ERR_VALUE) return false
    check(kernel, status)
    return true
  }

  /**
   * @param sizes the arguments that are numbers, in their order; those that kernels.ts uses are enough
   * @returns how many parts `run` would cut the call into: one for each thread, or 1 where that does not pay
   */
  partsOf(kernel: FunctionName, ...sizes: number[]): number {
    if (this.threads === 1) return 1
    const known = KERNELS[kernel]
    return known !== undefined && known.cost(...sizes) >= WORTH_SHARING ? this.threads : 1
  }

  /** @param values the arguments as numbers; changed here */
  #call(kernel: FunctionName, args: readonly Argument[], values: number[], parts: number): void {
    let status
    if (this.#pool !== null && parts > 1) {
      try {
        status = this.#pool.run(kernel, values, parts)
      } catch (error) {
        const isAddress = (arg: Argument) => typeof arg === 'object' || arg === SCRATCH
        args.forEach((arg, i) => isAddress(arg) && this.memory.retire(values[i]))
        throw error
      }
    } else {
      values.push(0, 1) // part and parts; WebAssembly drops them where a kernel does not take them
      const call: Kernel = this.exports[kernel]
      status = call(...values)
    }
    check(kernel, status)
  }

  /** Ends the workers and gives up the heap. From here on every tensor counts as disposed. */
  dispose(): void {
    this.#pool?.dispose()
    this.memory.dispose()
  }

  /** Runs `fn` and frees the tensors made inside, except those that can be reached from its result. */
  scope<T>(fn: () => T): T {
    return this.#scope(fn, { isLayers: false })
  }

  /**
   * As `scope`, for the temporary tensors of a layer or an operation. What a layer of the user's own has kept
   * in its properties stays, too.
   */
  temporary<T>(fn: () => T): T {
    return this.#scope(fn, { isLayers: true })
  }

  #scope<T>(fn: () => T, options: { isLayers: boolean }): T {
    const newest = newestStep()
    return this.memory.scope(fn, (kept, made) => survivors(kept, made, newest), options)
  }

  /** Runs `fn` without recording on the tape. */
  noGrad<T>(fn: () => T): T {
    const before = this.recordsGradients
    this.recordsGradients = false
    try {
      return fn()
    } finally {
      this.recordsGradients = before
    }
  }

  /** Runs `fn`, in which the parameters of new layers are meta tensors. */
  withMeta<T>(fn: () => T): T {
    const before = this.meta
    this.meta = true
    try {
      return fn()
    } finally {
      this.meta = before
    }
  }
}

function check(kernel: string, status: number): void {
  if (status === 0) return
  throw new GptLayersError(
    'INTERNAL',
    `${kernel} refused its arguments with status ${status}; please report this`,
  )
}

/** The number that WebAssembly takes for an argument; 0 for SCRATCH, which `run` replaces. */
function toNumber(arg: Argument): number {
  if (typeof arg === 'number') return arg
  if (arg === null || arg === SCRATCH) return 0
  return typeof arg === 'object' ? arg.byteOffset : Number(arg)
}

/**
 * The runtime of the instance that a class belongs to.
 *
 * @param Class the `this` of a static method: a class of an instance, or one that extends it
 */
export function runtimeOf(Class: unknown): Runtime {
  const runtime = typeof Class === 'function' ? Reflect.get(Class, RUNTIME) : undefined
  if (runtime instanceof Runtime) return runtime
  throw fail('TYPE', 'this', 'be the class; call it as gpt.GPTModel.fromPretrained(...)')
}
