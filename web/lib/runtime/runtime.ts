// The one runtime: the WebAssembly that `load` has started, its memory, and its threads.

import type { Kernel, Pool } from '../threads/pool.ts'
import type { Wasm } from '../typed.ts'
import type { Functions } from '../wasm/exports.ts'
import { fail, GptLayersError } from '../errors.ts'
import { Memory } from './memory.ts'

/** The exports of one of our WebAssembly builds: the functions of `c/gpt_layers.h` and the memory. */
export interface Exports extends Functions {
  memory: Wasm<'Memory', { readonly buffer: ArrayBuffer; grow(delta: number): number }>
  /** the address from which on memory is free */
  __heap_base: Wasm<'Global', { readonly value: number }>
}

export type FunctionName = keyof Functions

export type Build = 'simd' | 'relaxed'

export type Int8Kernel = 'dot' | 'int16'

/** A place in the heap: a tensor, or any object that says where its data begin. */
export type Pointer = { readonly byteOffset: number }

/** The build that runs; undefined before `load` and after `dispose`. */
export let build: Build

/**
 * How int8 is multiplied; undefined before `load` and after `dispose`. 'dot', in build 'relaxed' only, is faster
 * where the processor has an instruction for it; `load` asks the engine. Both give the same bits.
 */
export let int8Kernel: Int8Kernel

/**
 * The raw WebAssembly exports, under the C names that `gpt-layers/gpt_layers.h` documents; undefined before
 * `load` and after `dispose`.
 */
export let exports: Exports

/**
 * The number of threads. It is 1 where this machine or page cannot share memory or start workers, and once a
 * worker has ended or has not done its part of a call in time.
 */
export let threads = 1

/**
 * A sentence that says why there is one thread; null where there are more. While you develop (in a page from
 * localhost, and in Node and Bun unless NODE_ENV is 'production'), the console shows it, too, once, if more
 * than one thread was asked for.
 *
 * @example
 * await load({ threads: 2 })
 * if (gpt.threads === 1) console.log(gpt.threadsReason)
 */
export let threadsReason: string | null = 'nothing is loaded: await load() first'

let memory: Memory | null = null
let pool: Pool | null = null

export interface Started {
  exports: Exports
  build: Build
  int8Kernel: Int8Kernel
  memory: Memory
  /** the threads, or why there is only one */
  pool: Pool | string
}

export function begin(started: Started): void {
  exports = started.exports
  build = started.build
  int8Kernel = started.int8Kernel
  memory = started.memory
  const { pool: given } = started
  const oneThread = (reason: string) => {
    pool = null
    threads = 1
    threadsReason = reason
  }
  if (typeof given === 'string') {
    oneThread(given)
    return
  }
  pool = given
  threads = given.threads
  threadsReason = given.reason
  given.onFail = oneThread
}

export function end(): void {
  pool?.dispose()
  memory?.dispose()
  pool = null
  memory = null
  build = int8Kernel = exports = undefined as never
  threads = 1
  threadsReason = 'nothing is loaded: await load() first'
}

/** The heap that all tensors lie in. Refuses before `load`, and after `dispose`. */
export function heap(): Memory {
  if (memory !== null) return memory
  throw fail(
    'DISPOSED',
    'gpt-layers',
    'be loaded: await load() first',
    'a call before load() or after dispose()',
  )
}

/** Floats of scratch memory for each part of a call. The sizes are those arguments of the call that are numbers. */
type Scratch = (exports: Functions, ...sizes: number[]) => number

const attention: Scratch = (exports, _batch, tokens, _heads, size) =>
  exports.gpt_attention_scratch_size(tokens, size)

const SCRATCH_SIZES: { readonly [name in keyof Functions]?: Scratch } = {
  gpt_linear_forward: (exports, rows, inputs) => exports.gpt_linear_scratch_size(rows, inputs),
  gpt_linear_backward: (exports, rows, _inputs, outputs) =>
    exports.gpt_linear_backward_scratch_size(rows, outputs),
  gpt_conv1d_forward: (exports, rows, inputs) => exports.gpt_conv1d_scratch_size(rows, inputs),
  gpt_conv1d_backward: (exports, rows, _inputs, outputs) =>
    exports.gpt_conv1d_backward_scratch_size(rows, outputs),
  gpt_feedforward_forward: (exports, rows, dim, hidden) =>
    exports.gpt_feedforward_scratch_size(rows, dim, hidden),
  gpt_attention_forward: attention,
  gpt_attention_weights: attention,
  gpt_attention_backward: (exports, _batch, tokens, _heads, size) =>
    exports.gpt_attention_backward_scratch_size(tokens, size),
  gpt_attention_cached_forward: (exports, _batch, tokens, past, _capacity, heads, size) =>
    exports.gpt_attention_cached_scratch_size(tokens, past, heads, size),
  gpt_attention_int8_forward: (exports, _batch, tokens, past, _capacity, heads, size) =>
    exports.gpt_attention_int8_scratch_size(tokens, past, heads, size),
  gpt_int8_linear_forward: (exports, rows, inputs, _outputs, groupSize) =>
    exports.gpt_int8_linear_scratch_size(rows, inputs, groupSize),
  gpt_embedding_backward: (_exports, rows, count) => rows + count,
}

/** GPT_ERR_VALUE of c/gpt_layers.h. */
const ERR_VALUE = -3

/** Stands for a kernel's scratch memory among the arguments of `run`, which provides and frees it. */
export const SCRATCH = Symbol('scratch')

type Argument = Pointer | null | typeof SCRATCH | number | boolean

/**
 * Calls a kernel with the arguments that `c/gpt_layers.h` declares, in the same order, without `part` and
 * `parts`. Cuts the call into parts for the threads where that pays; the result has the same bits.
 *
 * | argument | becomes |
 * | --- | --- |
 * | Tensor or other Pointer | its byte offset |
 * | null | 0, C's NULL |
 * | SCRATCH | scratch memory of the size in SCRATCH_SIZES, freed after the call |
 * | boolean | 0 or 1 |
 *
 * @param nanoseconds what the call of an operation on elements costs on one thread; threads/costs.ts has the others
 * @throws {GptLayersError} MEMORY for the scratch; INTERNAL where the kernel refuses its arguments, or a
 *   thread does not finish its part in time. That thread may still write, so the memory of all arguments is
 *   retired, and who holds an output from before the call must give it up
 */
export function run(kernel: FunctionName, args: readonly Argument[], nanoseconds?: number): void {
  const memory = heap()
  const values: number[] = []
  let scratchAt = -1
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]
    if (arg === SCRATCH) scratchAt = i
    values.push(toNumber(arg))
  }
  // The fast way for small calls.
  if (scratchAt < 0 && pool === null) return call(memory, kernel, args, values, 1)
  const sizes = args.filter((arg) => typeof arg === 'number')
  const takesPart = exports[kernel].length === args.length + 2 // part and parts
  const parts = takesPart && pool !== null ? pool.partsOf(kernel, sizes, nanoseconds) : 1
  if (scratchAt < 0) return call(memory, kernel, args, values, parts)
  const size = SCRATCH_SIZES[kernel]?.(exports, ...sizes) ?? 0
  const floats = size >>> 0 // unsigned: SIZE_MAX, for no such scratch, is -1
  const bytes = 4 * parts * floats
  const scratch = memory.allocate(bytes)
  values[scratchAt] = scratch
  try {
    call(memory, kernel, args, values, parts)
  } finally {
    memory.free(scratch, bytes)
  }
}

/**
 * As `run`, in one piece, for a kernel that may refuse values.
 *
 * @returns false where the kernel refuses a value
 * @throws {GptLayersError} INTERNAL where it refuses its arguments otherwise
 */
export function tryRun(kernel: FunctionName, args: readonly (Pointer | number)[]): boolean {
  heap()
  const call: Kernel = exports[kernel]
  const status = call(...args.map(toNumber))
  if (status === ERR_VALUE) return false
  if (status !== 0) throw refusal(kernel, status)
  return true
}

/** How many parts `run` would cut a call of these sizes into: one for each thread, or 1 where that does not pay. */
export const partsOf = (kernel: FunctionName, ...sizes: number[]): number => pool?.partsOf(kernel, sizes) ?? 1

/** @param values the arguments as numbers; changed here */
function call(
  memory: Memory,
  kernel: FunctionName,
  args: readonly Argument[],
  values: number[],
  parts: number,
): void {
  let status
  if (pool !== null && parts > 1) {
    try {
      status = pool.run(kernel, values, parts)
    } catch (error) {
      const isAddress = (arg: Argument) => typeof arg === 'object' || arg === SCRATCH
      args.forEach((arg, i) => isAddress(arg) && memory.retire(values[i]))
      throw error
    }
  } else {
    values.push(0, 1) // part and parts; WebAssembly drops them where a kernel does not take them
    const call: Kernel = exports[kernel]
    status = call(...values)
  }
  if (status !== 0) throw refusal(kernel, status)
}

const refusal = (kernel: string, status: number): GptLayersError =>
  new GptLayersError('INTERNAL', `${kernel} refused its arguments with status ${status}; please report this`)

function toNumber(arg: Argument): number {
  if (typeof arg === 'number') return arg
  if (arg === null || arg === SCRATCH) return 0
  return typeof arg === 'object' ? arg.byteOffset : Number(arg)
}
