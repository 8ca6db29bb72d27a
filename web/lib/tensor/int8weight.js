/** @import { Storage } from '../runtime/memory.js' */
/** @import { Pointer, Runtime } from '../runtime/runtime.js' */

import { checkSameShape, sameShape } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkElements } from './shape.js'
import { Tensor } from './tensor.js'

/** What the constructor wants to see: only this file can make int8 weights. */
const KEY = Symbol('key')

/**
 * The method under which a layer says which of its tensors is a matrix that may be int8, and how it is read.
 */
export const MATRIX = Symbol('matrix')

/**
 * @typedef {object} Matrix
 * @property {Tensor} weight
 * @property {boolean} transposed whether its shape is [inputs, outputs]
 * @property {boolean} isProduct whether the layer computes a matrix product; Embedding does not
 */

/** The inputs that share a scale, unless the caller says otherwise. */
export const GROUP_SIZE = 128

/** The outputs that the kernels' layout interleaves, of which a slab has a multiple. */
export const OUTPUTS = 8
/** The inputs that the kernels' layout keeps together. */
const INPUTS = 2

/** The outputs from which `columnsOf` judges a matrix. */
export const SAMPLE = 4096

/** How many times the median the largest weight of an input is, where it gets a factor of its own. */
const OUTLIER = 4

/** The most bytes of memory, beside the weight itself, that reading and writing it take at once. */
const STAGE = 2 ** 22

/** What a size function returns where no memory is large enough. */
const SIZE_MAX = 2 ** 32 - 1

/**
 * The values of an int8 weight in the order of a shape, and the scales: [outputs, groups] where the shape is
 * [outputs, inputs], [groups, outputs] where it is [inputs, outputs].
 *
 * @typedef {{ values: Int8Array, scales: Float32Array, columns: Float32Array | null }} Plain
 */

/**
 * How an int8 weight lies in memory. transposed: whether its shape is [inputs, outputs]; groupSize: from
 * `evenGroups`; hasColumns: whether inputs have factors.
 *
 * @typedef {{ transposed: boolean, groupSize: number, hasColumns?: boolean }} Layout
 */

/**
 * The factors of a matrix's inputs. GPT-2 has inputs whose weights are 50 times as large as others; in a
 * group with them the others would be rounded to a few steps. Factors are powers of two, so they round
 * nothing.
 *
 * @param {Float32Array} values [rows, cols]
 * @param {number} cols
 * @param {boolean} rowsAreOutputs whether it is [outputs, inputs]; the first SAMPLE outputs are looked at
 * @returns {Float32Array | null} for each input; null where all are 1
 */
export function columnsOf(values, cols, rowsAreOutputs) {
  const count = values.length / cols
  const largest = new Float32Array(rowsAreOutputs ? cols : count)
  const [rows, seen] = rowsAreOutputs ? [Math.min(count, SAMPLE), cols] : [count, Math.min(cols, SAMPLE)]
  for (let r = 0; r < rows; r++) {
    if (rowsAreOutputs) {
      for (let c = 0, at = r * cols; c < seen; c++, at++) {
        const size = Math.abs(values[at])
        if (size > largest[c]) largest[c] = size
      }
    } else {
      let most = 0
      for (let at = r * cols; at < r * cols + seen; at++) most = Math.max(most, Math.abs(values[at]))
      largest[r] = most
    }
  }
  const median = largest.slice().sort()[largest.length >> 1]
  const isOutlier = (/** @type {number} */ size) => median > 0 && size >= OUTLIER * median && size < Infinity
  if (!largest.some(isOutlier)) return null
  return largest.map((size) => (isOutlier(size) ? 2 ** Math.round(Math.log2(size / median)) : 1))
}

/**
 * Which weights share a scale: as few groups of at most `groupSize` inputs as possible, equally long. So the
 * number of groups says how long they are.
 *
 * @param {number} inputs
 * @param {number} groupSize even, or Infinity for one group
 * @returns {number} the length of a group; even
 */
export const evenGroups = (inputs, groupSize) => groupLength(inputs, Math.ceil(inputs / groupSize) || 1)

/**
 * @param {number} inputs
 * @param {number} groups
 * @returns {number} the length of a group, even; 0 where there are no such groups
 */
export function groupLength(inputs, groups) {
  const length = INPUTS * Math.ceil(inputs / groups / INPUTS)
  return Math.ceil(inputs / length) === groups ? length : 0
}

/**
 * A weight of which each element is a value of 8 bits times a float32 scale that `groupSize` inputs of one
 * output share. `module.quantize()` and `GPTModel.fromSafetensors` make them; `linear.int8Weight` is one. It
 * is frozen, in the memory of its instance, and belongs to the layer's `weight`.
 *
 *     weight[o,i] = scale[o, i / groupSize] · value[o,i],  scale = max |weight| / 127 of the group
 *
 * Where the weights of some inputs are at least 4 times as large as those of most, each input has a factor,
 * too: a power of two, in `columns()`. The groups then have the weights divided by these factors.
 */
export class Int8Weight {
  /** @type {Runtime} */ #runtime
  /** The values, then the scales. @type {Storage | null} */ #storage
  /** Where the scales begin in the block. @type {number} */ #valueBytes
  /** @type {number} */ #scaleCount
  #hasColumns

  /**
   * @internal
   * @param {symbol} key
   * @param {Runtime} runtime
   * @param {string} where
   * @param {readonly [number, number]} shape
   * @param {Layout} layout
   * @param {(bytes: number) => Storage} store
   * @throws {GptLayersError} MEMORY, DISPOSED
   */
  constructor(key, runtime, where, shape, layout, store) {
    if (key !== KEY) {
      const expected = 'made by quantize or GPTModel.fromSafetensors'
      throw new GptLayersError('TYPE', `Int8Weight: an int8 weight should be ${expected}, got new`)
    }
    this.#runtime = runtime
    /** The shape of the weight: a Linear's [outputs, inputs], a Conv1D's [inputs, outputs]. @readonly */
    this.shape = Object.freeze(shape)
    /** How many inputs share a scale: even. @readonly @type {number} */
    this.groupSize = layout.groupSize
    /** Whether shape is [inputs, outputs]. @internal @readonly @type {boolean} */
    this.transposed = layout.transposed
    this.#hasColumns = layout.hasColumns ?? false
    const { outputs, inputs } = this.#sizes
    const { exports } = runtime
    this.#valueBytes = exports.gpt_int8_values_size(outputs, inputs) >>> 0
    this.#scaleCount = exports.gpt_int8_scales_size(outputs, inputs, this.groupSize) >>> 0
    if (this.#valueBytes === SIZE_MAX || this.#scaleCount === SIZE_MAX) checkElements(where, [SIZE_MAX])
    this.#storage = store(this.byteLength)
    Object.freeze(this) // private fields stay writable
  }

  /**
   * An int8 weight whose values and scales are undefined until they are written.
   *
   * @internal
   * @param {Runtime} runtime
   * @param {string} where
   * @param {readonly number[]} shape of a matrix
   * @param {Layout} layout
   * @returns {Int8Weight} in no scope: its Tensor frees it
   * @throws {GptLayersError} MEMORY, DISPOSED
   */
  static empty(runtime, where, shape, layout) {
    const store = (/** @type {number} */ bytes) => runtime.memory.store(where, bytes)
    const weight = new Int8Weight(KEY, runtime, where, pair(shape), layout, store)
    runtime.memory.bytes(weight.byteOffset, weight.byteLength).fill(0) // the layout's padding
    return weight
  }

  /**
   * Whether value is an int8 weight itself. A Proxy of one is none.
   *
   * @internal
   * @param {unknown} value
   * @returns {value is Int8Weight}
   */
  static isInt8Weight(value) {
    return typeof value === 'object' && value !== null && #storage in value
  }

  /** @internal @returns {Runtime} */
  get runtime() {
    return this.#runtime
  }

  /** Where the values begin in the memory. @internal @returns {number} */
  get byteOffset() {
    return this.#live('byteOffset').offset
  }

  /** The bytes of values, scales and columns. @internal @returns {number} */
  get byteLength() {
    return this.#columnsAt + 4 * this.#sizes.inputs
  }

  /** The kernels' arguments `values` and `scales`. @internal @returns {[Pointer, Pointer]} */
  get pointers() {
    const { byteOffset } = this
    return [{ byteOffset }, { byteOffset: byteOffset + this.#scalesAt }]
  }

  /** Where the scales begin, from byteOffset. */
  get #scalesAt() {
    return Math.ceil(this.#valueBytes / 16) * 16
  }

  /** Where the columns begin, from byteOffset. */
  get #columnsAt() {
    return this.#scalesAt + 4 * this.#scaleCount
  }

  get #sizes() {
    const [rows, cols] = this.shape
    const [outputs, inputs] = this.transposed ? [cols, rows] : [rows, cols]
    return { outputs, inputs, groups: Math.ceil(inputs / this.groupSize) }
  }

  /** The shape of `scales`. @internal @returns {[number, number]} */
  get scalesShape() {
    const { outputs, groups } = this.#sizes
    return this.transposed ? [groups, outputs] : [outputs, groups]
  }

  /** Whether this weight or its instance was disposed. @returns {boolean} */
  get disposed() {
    return this.#storage === null || this.#runtime.memory.disposed
  }

  /**
   * @returns {Int8Array} a copy of the values, from -127 to 127, in the order of the shape
   * @throws {GptLayersError} DISPOSED
   * @example
   * linear.quantize()
   * linear.int8Weight.values().length // 30
   */
  values() {
    const { outputs, inputs } = this.#sizes
    this.#live('values')
    const result = new Int8Array(outputs * inputs)
    this.readValues(result)
    return result
  }

  /**
   * @internal
   * @param {Int8Array | Uint8Array} target where the values go, in the order of the shape
   */
  readValues(target) {
    const { outputs, inputs } = this.#sizes
    const { memory, exports } = this.#runtime
    const most = OUTPUTS * Math.max(1, Math.floor(STAGE / (inputs * OUTPUTS)))
    const stage = memory.allocate('values', Math.min(most, outputs) * inputs)
    try {
      for (let first = 0; first < outputs; first += most) {
        const count = Math.min(most, outputs - first)
        const from = { byteOffset: this.byteOffset + exports.gpt_int8_values_size(first, inputs) }
        const steps = this.transposed ? [1, count] : [inputs, 1]
        this.#runtime.run('gpt_int8_unpack', [{ byteOffset: stage }, from, count, inputs, ...steps])
        const plain = memory.bytes(stage, count * inputs)
        if (!this.transposed) target.set(plain, first * inputs)
        else {
          for (let i = 0; i < inputs; i++) {
            target.set(plain.subarray(i * count, (i + 1) * count), i * outputs + first)
          }
        }
      }
    } finally {
      memory.free(stage)
    }
  }

  /**
   * @returns {Float32Array} a copy of the scales: [outputs, groups] in a Linear or an Embedding, [groups,
   *   outputs] in a Conv1D
   * @throws {GptLayersError} DISPOSED
   */
  scales() {
    const { outputs, groups } = this.#sizes
    this.#live('scales')
    const result = new Float32Array(outputs * groups)
    this.readScales(result)
    return result
  }

  /** @internal @param {Float32Array} target where the scales go, in the order of `scalesShape` */
  readScales(target) {
    const { outputs, groups } = this.#sizes
    const stored = this.#storedScales('scales')
    this.#eachScale(0, outputs, 0, groups, (at, place) => (target[at] = stored[place]))
  }

  /**
   * @returns {Float32Array | null} a copy of the inputs' factors; null where there are none
   * @throws {GptLayersError} DISPOSED
   */
  columns() {
    this.#live('columns')
    return this.#hasColumns ? this.#storedColumns().slice() : null
  }

  #storedColumns() {
    return this.#runtime.memory.floats(this.byteOffset + this.#columnsAt, this.#sizes.inputs)
  }

  /**
   * Multiplies the input of a product by the inputs' factors, where there are any.
   *
   * @internal
   * @param {string} where
   * @param {Pointer} x [rows, inputs]
   * @param {number} rows
   * @returns {Pointer} x itself, or a new tensor
   */
  scaledRows(where, x, rows) {
    if (!this.#hasColumns) return x
    const { inputs } = this.#sizes
    const y = Tensor.empty(this.#runtime, where, [rows, inputs])
    const columns = { byteOffset: this.byteOffset + this.#columnsAt }
    this.#runtime.run('gpt_mul', [y, x, columns, rows, inputs, inputs, 1, 0, 1])
    return y
  }

  /**
   * Multiplies by the inputs' factors, where there are any.
   *
   * @internal
   * @param {Tensor} x [..., inputs], or of this weight's shape
   * @param {boolean} [isWeight] whether it is of this weight's shape
   * @returns {Tensor} x itself, or a new tensor
   */
  scaled(x, isWeight = false) {
    if (!this.#hasColumns) return x
    const { inputs } = this.#sizes
    const shape = isWeight && this.transposed ? [inputs, 1] : [inputs]
    return x.mul(Tensor.at(this.#runtime, shape, this.byteOffset + this.#columnsAt))
  }

  /**
   * @internal
   * @param {Float32Array | null} columns
   */
  writeColumns(columns) {
    this.#hasColumns = columns !== null
    if (columns) this.#storedColumns().set(columns)
  }

  /**
   * Divides rows of a matrix by the inputs' factors, where there are any.
   *
   * @internal
   * @param {Float32Array} values changed
   * @param {number} first
   * @param {number} rows
   * @param {boolean} rowsAreOutputs
   */
  divide(values, first, rows, rowsAreOutputs) {
    if (!this.#hasColumns) return
    const columns = this.#storedColumns()
    const cols = values.length / rows
    for (let r = 0, at = 0; r < rows; r++) {
      for (let c = 0; c < cols; c++, at++) values[at] /= columns[rowsAreOutputs ? c : first + r]
    }
  }

  /**
   * @returns {Tensor} a new float32 tensor of the weight's shape: each value times its scale
   * @throws {GptLayersError} DISPOSED, MEMORY
   * @example
   * linear.quantize()
   * linear.int8Weight.dequantize().shape // [6, 5]
   */
  dequantize() {
    const { outputs, inputs } = this.#sizes
    this.#live('dequantize')
    return this.#runtime.scope(() => {
      const weight = Tensor.empty(this.#runtime, 'dequantize', [...this.shape])
      const steps = this.transposed ? [1, outputs] : [inputs, 1]
      const args = [weight, ...this.pointers, outputs, inputs, this.groupSize, ...steps]
      this.#runtime.run('gpt_int8_dequantize', args)
      return this.scaled(weight, true)
    })
  }

  /** @internal @returns {Plain & { groupSize: number }} a copy of all parts */
  copy() {
    const { groupSize } = this
    return { values: this.values(), scales: this.scales(), columns: this.columns(), groupSize }
  }

  /** Frees the memory at once. Using the weight afterwards is an error; disposing again is not. */
  dispose() {
    if (this.#storage !== null) this.#runtime.memory.drop(this.#storage)
    this.#storage = null
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }

  /**
   * The slabs of rows in which a matrix is written begin at multiples of this.
   *
   * @internal
   * @param {boolean} rowsAreOutputs
   * @returns {number}
   */
  unit(rowsAreOutputs) {
    return rowsAreOutputs ? OUTPUTS : this.groupSize
  }

  /**
   * Quantizes a tensor of this weight's shape.
   *
   * @internal
   * @param {string} where
   * @param {Tensor} weight
   * @returns {boolean} false where it is not finite
   * @throws {GptLayersError} MEMORY, where inputs need factors
   */
  quantizeTensor(where, weight) {
    const [rows, cols] = this.shape
    const rowsAreOutputs = !this.transposed
    if (columnsOf(weight.data, cols, rowsAreOutputs) === null) {
      return this.quantizeRows(weight, 0, rows, rowsAreOutputs)
    }
    const { memory } = this.#runtime
    const bytes = this.stageBytes(rowsAreOutputs)
    const stage = { byteOffset: memory.allocate(where, bytes), bytes }
    const isFinite = this.writeFloats(weight.data, rowsAreOutputs, stage)
    memory.free(stage.byteOffset)
    return isFinite
  }

  /**
   * Quantizes some rows of a matrix.
   *
   * @internal
   * @param {Pointer} weight the float32 rows, in the memory
   * @param {number} first a multiple of `unit`
   * @param {number} rows
   * @param {boolean} rowsAreOutputs whether the matrix is [outputs, inputs], whatever the shape
   * @returns {boolean} false where they are not finite
   */
  quantizeRows(weight, first, rows, rowsAreOutputs) {
    const { outputs, inputs } = this.#sizes
    const slab = this.#slab(first, rows, rowsAreOutputs)
    const args = [...this.pointers, weight, outputs, inputs, this.groupSize, ...slab]
    return this.#runtime.accepts('gpt_int8_quantize', args)
  }

  /**
   * Writes the values of some rows of a matrix.
   *
   * @internal
   * @param {Pointer} plain int8, in the memory
   * @param {number} first a multiple of `unit`
   * @param {number} rows
   * @param {boolean} rowsAreOutputs
   */
  packRows(plain, first, rows, rowsAreOutputs) {
    const { outputs, inputs } = this.#sizes
    const slab = this.#slab(first, rows, rowsAreOutputs)
    this.#runtime.run('gpt_int8_pack', [this.pointers[0], plain, outputs, inputs, ...slab])
  }

  /**
   * The bytes of memory that `writeFloats` and `writePlain` need.
   *
   * @internal
   * @param {boolean} rowsAreOutputs
   * @returns {number}
   */
  stageBytes(rowsAreOutputs) {
    const { outputs, inputs } = this.#sizes
    const [count, cols] = rowsAreOutputs ? [outputs, inputs] : [inputs, outputs]
    const unit = this.unit(rowsAreOutputs)
    return 4 * cols * Math.min(Math.ceil(count / unit) * unit, unit * Math.ceil(STAGE / (4 * cols * unit)))
  }

  /**
   * Quantizes a matrix, with the factors that it needs.
   *
   * @internal
   * @param {Float32Array} values
   * @param {boolean} rowsAreOutputs whether they are [outputs, inputs]
   * @param {{ byteOffset: number, bytes: number }} stage memory of at least `stageBytes`
   * @returns {boolean} false where they are not finite
   */
  writeFloats(values, rowsAreOutputs, stage) {
    const { outputs, inputs } = this.#sizes
    this.writeColumns(columnsOf(values, rowsAreOutputs ? inputs : outputs, rowsAreOutputs))
    let isFinite = true
    this.#eachSlab(rowsAreOutputs, 4, stage, (first, rows, cols) => {
      const part = this.#runtime.memory.floats(stage.byteOffset, rows * cols)
      part.set(values.subarray(first * cols, (first + rows) * cols))
      this.divide(part, first, rows, rowsAreOutputs)
      isFinite &&= this.quantizeRows(stage, first, rows, rowsAreOutputs)
    })
    return isFinite
  }

  /**
   * Writes values and scales. Cannot fail.
   *
   * @internal
   * @param {Plain} plain
   * @param {boolean} rowsAreOutputs whether they are [outputs, inputs] and [outputs, groups]
   * @param {{ byteOffset: number, bytes: number }} stage memory of at least `stageBytes`
   */
  writePlain({ values, scales, columns }, rowsAreOutputs, stage) {
    this.#eachSlab(rowsAreOutputs, 1, stage, (first, rows, cols) => {
      const part = values.subarray(first * cols, (first + rows) * cols)
      this.#runtime.memory.bytes(stage.byteOffset, part.length).set(part)
      this.packRows(stage, first, rows, rowsAreOutputs)
    })
    const { outputs, groups } = this.#sizes
    this.writeScales(scales, 0, rowsAreOutputs ? outputs : groups, rowsAreOutputs)
    this.writeColumns(columns)
  }

  /**
   * @param {boolean} rowsAreOutputs
   * @param {number} elementBytes
   * @param {{ bytes: number }} stage
   * @param {(first: number, rows: number, cols: number) => void} write
   */
  #eachSlab(rowsAreOutputs, elementBytes, stage, write) {
    const { outputs, inputs } = this.#sizes
    const [count, cols] = rowsAreOutputs ? [outputs, inputs] : [inputs, outputs]
    const unit = this.unit(rowsAreOutputs)
    const most = unit * Math.floor(stage.bytes / (unit * cols * elementBytes))
    for (let first = 0; first < count; first += most) write(first, Math.min(most, count - first), cols)
  }

  /** @param {number} first @param {number} rows @param {boolean} rowsAreOutputs */
  #slab(first, rows, rowsAreOutputs) {
    const { outputs, inputs } = this.#sizes
    return rowsAreOutputs ? [first, rows, 0, inputs, inputs, 1] : [0, outputs, first, rows, 1, outputs]
  }

  /**
   * Writes some rows of the scales' matrix.
   *
   * @internal
   * @param {Float32Array} scales
   * @param {number} first
   * @param {number} rows
   * @param {boolean} rowsAreOutputs whether the matrix is [outputs, groups]
   */
  writeScales(scales, first, rows, rowsAreOutputs) {
    const { outputs, groups } = this.#sizes
    const stored = this.#storedScales('scales')
    const write = (/** @type {number} */ at, /** @type {number} */ place) => (stored[place] = scales[at])
    if (rowsAreOutputs) this.#eachScale(first, rows, 0, groups, write, false)
    else this.#eachScale(0, outputs, first, rows, write, true)
  }

  /**
   * Calls `use` with the place of each scale in a part of the plain matrix, and in the kernels' layout.
   *
   * @param {number} firstOutput
   * @param {number} outputs
   * @param {number} firstGroup
   * @param {number} count groups
   * @param {(at: number, place: number) => void} use
   * @param {boolean} [transposed] whether the plain matrix is [groups, outputs]
   */
  #eachScale(firstOutput, outputs, firstGroup, count, use, transposed = this.transposed) {
    const { groups } = this.#sizes
    const [outputStep, groupStep] = transposed ? [1, outputs] : [count, 1]
    for (let j = 0; j < outputs; j++) {
      const lane = (firstOutput + j) % OUTPUTS
      const place = (firstOutput + j - lane) * groups + lane + firstGroup * OUTPUTS
      for (let k = 0; k < count; k++) use(j * outputStep + k * groupStep, place + k * OUTPUTS)
    }
  }

  /** @param {string} where @returns {Float32Array} a view of the scales in the kernels' layout */
  #storedScales(where) {
    const { offset } = this.#live(where)
    return this.#runtime.memory.floats(offset + this.#scalesAt, this.#scaleCount)
  }

  /**
   * Checks a layer's weight.
   *
   * @internal
   * @param {Runtime} runtime
   * @param {string} where
   * @param {readonly number[]} shape
   * @param {boolean} transposed whether the layer reads its weight as [inputs, outputs]
   * @returns {this}
   * @throws {GptLayersError} SHAPE, VALUE, DISPOSED
   */
  checkUsable(runtime, where, shape, transposed) {
    if (this.#runtime !== runtime) {
      throw new GptLayersError(
        'VALUE',
        `${where}: int8Weight should come from the same load(), got another's`,
      )
    }
    this.#live(where)
    checkSameShape(where, 'int8Weight', this.shape, shape)
    if (this.transposed === transposed) return this
    const [own, other] = transposed
      ? ['[inputs, outputs]', '[outputs, inputs]']
      : ['[outputs, inputs]', '[inputs, outputs]']
    throw new GptLayersError('VALUE', `${where}: int8Weight should be quantized as ${own}, got ${other}`)
  }

  /**
   * @internal
   * @param {string} where
   * @param {string} name of the argument that is this weight
   * @returns {this}
   * @throws {GptLayersError} DISPOSED
   */
  checkLive(where, name) {
    if (!this.disposed) return this
    throw new GptLayersError('DISPOSED', `${where}: ${name} should be live, got one that was disposed`)
  }

  /** @param {string} where @returns {Storage} @throws {GptLayersError} DISPOSED */
  #live(where) {
    return /** @type {Storage} */ (this.checkLive(where, 'int8Weight').#storage)
  }
}

Reflect.defineProperty(Int8Weight, 'name', { value: 'Int8Weight' })
Object.freeze(Int8Weight)
Object.freeze(Int8Weight.prototype)

/**
 * @param {unknown} value
 * @returns {Int8Weight | null} the value, or what has taken the place of the value, a Tensor
 */
export function int8Of(value) {
  if (Int8Weight.isInt8Weight(value)) return value
  return Tensor.isTensor(value) ? value.int8Weight : null
}

/**
 * @param {string} where
 * @param {Int8Weight | null} int8Weight of the layer
 * @throws {GptLayersError} UNSUPPORTED where there is one
 */
export function checkTrainable(where, int8Weight) {
  if (int8Weight === null) return
  throw new GptLayersError('UNSUPPORTED', `${where}: weight should be float32, got int8, made by quantize`)
}

/**
 * @param {unknown} weight the property of a layer, which the user may have replaced
 * @param {readonly number[]} shape that the layer needs
 * @param {{ transposed: boolean, isProduct: boolean }} reading
 * @returns {Matrix | null}
 */
export const asMatrix = (weight, shape, reading) =>
  Tensor.isTensor(weight) && sameShape(weight.shape, shape) ? { weight, ...reading } : null

/** @param {readonly number[]} shape @returns {[number, number]} */
const pair = ([rows, cols]) => [rows, cols]
