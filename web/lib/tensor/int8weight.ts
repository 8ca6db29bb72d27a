import type { Storage } from '../runtime/memory.ts'
import type { Disposes } from '../typed.ts'
import { nameMethods } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { type Pointer, exports, heap, int8Kernel, run, tryRun } from '../runtime/runtime.ts'
import { Compared, hashOf, withoutValues } from './compared.ts'
import { checkElements, checkSameShape } from './shape.ts'
import { Tensor } from './tensor.ts'

/** The most inputs that share a scale, unless the caller says otherwise. */
export const GROUP_SIZE = 128

/** The kernels' layout has blocks of so many outputs, and groups of a multiple of so many inputs: c/int8.h. */
const OUTPUTS = 32
const INPUTS = 2

/** About how many bytes, beside the weight itself, reading it takes. */
const BUFFER = 2 ** 22

/** What a size function returns where no memory is large enough. */
const SIZE_MAX = 2 ** 32 - 1

/**
 * Which weights share a scale: as few groups of at most `groupSize` inputs as possible, equally long. So the
 * number of groups says how long they are.
 *
 * @param groupSize even, or Infinity for one group
 * @returns the length of a group; even
 */
export const evenGroups = (inputs: number, groupSize: number): number =>
  groupLength(inputs, Math.ceil(inputs / groupSize) || 1)

/** @returns the length of a group, even; 0 where there are no such groups */
export function groupLength(inputs: number, groups: number): number {
  const length = INPUTS * Math.ceil(inputs / groups / INPUTS)
  return Math.ceil(inputs / length) === groups ? length : 0
}

/**
 * A matrix may be written in several calls, some rows in each. The first row of a call is a multiple of this.
 *
 * @param transposed whether the matrix is [inputs, outputs]
 */
export const alignmentOf = (transposed: boolean, groupSize: number): number =>
  transposed ? groupSize : OUTPUTS

/** What the kernels call `dot`: for which inner loop weights are laid out, and caches. */
export const isByDot = (): number => Number(int8Kernel === 'dot')

const bytesOf = (outputs: number, inputs: number, groupSize: number): number =>
  exports.gpt_int8_size(outputs, inputs, groupSize, isByDot()) >>> 0

const NOT_CLONED: symbol = /* @__PURE__ */ Symbol('an Int8Weight: send w.values(), w.scales() and w.shape')

export interface Int8Weight extends Disposes {}

/**
 * A weight [outputs, inputs] of which each element is a value of 8 bits times a float32 scale that
 * `groupSize` inputs of one output share. A Conv1D's weight is transposed into this shape.
 * `module.quantize()` and `GPTModel.fromPretrained` make int8 weights; `linear.int8Weight` is one. It
 * belongs to the layer's `weight`.
 *
 *     weight[o,i] = scale[o, i / groupSize] · value[o,i],  scale = max |weight| / 127 of the group
 */
export class Int8Weight {
  /** @internal */
  static readonly ownName = 'Int8Weight'

  /** Values and scales, in the kernels' layout. */
  #storage: Storage | null
  /** The bytes of values and scales. @internal */
  readonly byteLength: number

  /** @internal */
  readonly compared: Compared = new Compared(this, NOT_CLONED)
  /** [outputs, inputs] */
  readonly shape: readonly [number, number]
  /** How many inputs share a scale: even. */
  readonly groupSize: number

  /**
   * The values and scales are undefined until they are written. The weight's Tensor frees it; no scope does.
   *
   * @internal @param groupSize from `evenGroups`
   */
  static empty(shape: readonly number[], groupSize: number): Int8Weight {
    return new Int8Weight(shape, groupSize)
  }

  private constructor(shape: readonly number[], groupSize: number) {
    nameMethods(Int8Weight)
    if (shape === undefined) throw new GptLayersError('TYPE', 'Int8Weight: quantize() of a layer makes it')
    const [outputs, inputs] = shape
    this.shape = Object.freeze([outputs, inputs] as const)
    this.groupSize = groupSize
    this.byteLength = bytesOf(outputs, inputs, groupSize)
    if (this.byteLength === SIZE_MAX) checkElements([SIZE_MAX])
    this.#storage = heap().store(this.byteLength)
    heap().bytes(this.byteOffset, this.byteLength).fill(0) // the layout's padding
  }

  /** What test frameworks compare; see Tensor's. @internal */
  get [Symbol.toStringTag](): string {
    if (!(#storage in this)) return Int8Weight.ownName
    if (this.disposed) return withoutValues(this)
    const bits = heap().words(this.byteOffset, this.byteLength / 4)
    return `Int8Weight [${this.shape.join(', ')}] ${this.groupSize} ${hashOf(bits)}`
  }

  /** Where it begins in the memory: the kernels take it as it is. @internal */
  get byteOffset(): number {
    return this.#live().offset
  }

  /** The shape of `scales`: [outputs, groups]. @internal */
  get scalesShape(): [number, number] {
    const [outputs, inputs] = this.shape
    return [outputs, Math.ceil(inputs / this.groupSize)]
  }

  /** Whether this weight was disposed, or `dispose()` was called. */
  get disposed(): boolean {
    return this.#storage === null || this.#storage.memory.disposed
  }

  /**
   * @returns a copy of the values, from -127 to 127: [outputs, inputs]
   * @example
   * linear.quantize()
   * linear.int8Weight.values().length // 30
   */
  values(): Int8Array {
    this.#live()
    const [outputs, inputs] = this.shape
    const result = new Int8Array(outputs * inputs)
    this.readValues(result)
    return result
  }

  /** @internal @param target has as many elements */
  readValues(target: Int8Array | Uint8Array): void {
    const [outputs, inputs] = this.shape
    const memory = heap()
    const most = OUTPUTS * Math.max(1, Math.floor(BUFFER / (inputs * OUTPUTS)))
    const bytes = Math.min(most, outputs) * inputs
    const byteOffset = memory.allocate(bytes)
    try {
      for (let first = 0; first < outputs; first += most) {
        const count = Math.min(most, outputs - first)
        run('gpt_int8_unpack', [{ byteOffset }, this.#from(first), count, inputs, this.groupSize, isByDot()])
        target.set(memory.bytes(byteOffset, count * inputs), first * inputs)
      }
    } finally {
      memory.free(byteOffset, bytes)
    }
  }

  /**
   * @returns a copy of the scales: [outputs, groups]
   */
  scales(): Float32Array {
    const [outputs, groups] = this.scalesShape
    const stored = this.#storedScales()
    const result = new Float32Array(outputs * groups)
    this.#eachScale(0, outputs, (at, place) => (result[at] = stored[place]))
    return result
  }

  /**
   * @returns a new float32 tensor [outputs, inputs]: each value times its scale
   * @example
   * linear.quantize()
   * linear.int8Weight.dequantize().shape // [6, 5]
   */
  dequantize(): Tensor {
    this.#live()
    const weight = Tensor.empty(this.shape)
    run('gpt_int8_dequantize', [weight, this, ...this.shape, this.groupSize, isByDot()])
    return weight
  }

  /** Frees the memory at once. Using the weight afterwards is an error; disposing again is not. */
  dispose(): void {
    if (this.#storage !== null) this.#storage.memory.drop(this.#storage)
    this.#storage = null
  }

  /**
   * Quantizes `count` rows of a float32 matrix, from row `first` on.
   *
   * @internal
   * @param rows where the rows are in the memory
   * @param first a multiple of `alignmentOf`
   * @param transposed whether the matrix is [inputs, outputs]
   * @returns false where they are not finite
   */
  quantizeRows(rows: Pointer, first: number, count: number, transposed: boolean): boolean {
    const [outputs, inputs] = this.shape
    const sizes = transposed
      ? [outputs, inputs, this.groupSize, first, count, 1, outputs]
      : [count, inputs, this.groupSize, 0, inputs, inputs, 1]
    return tryRun('gpt_int8_quantize', [this.#from(transposed ? 0 : first), rows, ...sizes, isByDot()])
  }

  /**
   * Writes the values [count, inputs] of `count` outputs, from output `first` on, a multiple of OUTPUTS.
   *
   * @internal @param rows where the values are in the memory
   */
  packRows(rows: Pointer, first: number, count: number): void {
    run('gpt_int8_pack', [this.#from(first), rows, count, this.shape[1], this.groupSize, isByDot()])
  }

  /** Writes the scales [count, groups] of `count` outputs, from output `first` on. @internal */
  writeScales(scales: Float32Array, first: number, count: number): void {
    const stored = this.#storedScales()
    this.#eachScale(first, count, (at, place) => (stored[place] = scales[at]))
  }

  /** @returns where an output begins, a multiple of OUTPUTS */
  #from(output: number): Pointer {
    return { byteOffset: this.byteOffset + bytesOf(output, this.shape[1], this.groupSize) }
  }

  /**
   * Calls `use` with the place of each scale of some outputs in [count, groups], and among the stored floats.
   */
  #eachScale(first: number, count: number, use: (at: number, place: number) => void): void {
    const { groupSize } = this
    const [, groups] = this.scalesShape
    // The layout of c/int8.h: a block of OUTPUTS outputs = its groups; a group = OUTPUTS scales, then the rest.
    const block = bytesOf(OUTPUTS, this.shape[1], groupSize) / 4
    const group = bytesOf(OUTPUTS, groupSize, groupSize) / 4
    for (let at = 0; at < count * groups; at++) {
      const output = first + Math.floor(at / groups)
      use(at, Math.floor(output / OUTPUTS) * block + (at % groups) * group + (output % OUTPUTS))
    }
  }

  #storedScales(): Float32Array {
    return heap().floats(this.byteOffset, this.byteLength / 4)
  }

  /** @internal @param shape [outputs, inputs] of the layer */
  static checkUsable(weight: Int8Weight, shape: readonly number[]): Int8Weight {
    weight.#live()
    checkSameShape('int8Weight', weight.shape, shape)
    return weight
  }

  /** @internal */
  static checkLive(weight: Int8Weight, name: string): void {
    if (weight.disposed) throw fail('DISPOSED', name, 'be live', 'one that was disposed')
  }

  #live(): Storage {
    Int8Weight.checkLive(this, 'int8Weight')
    return this.#storage as Storage
  }
}

/** An int8 weight: the value itself, or the one that has taken the place of a Tensor's values. */
export function int8Of(value: unknown): Int8Weight | null {
  if (value instanceof Int8Weight) return value
  return value instanceof Tensor ? value.int8Weight : null
}
