/// <reference lib="esnext.disposable" preserve="true" />
/** @import { Pointer, Runtime } from '../runtime/runtime.js' */
/** @import { Storage } from '../runtime/memory.js' */
/** @import { Int8Weight } from './int8weight.js' */
/** @import { BinaryKernel } from './elementwise.js' */
/** @import { NumberArray } from '../typed.js' */
/** @import { NestedArray } from './nested.js' */
/** @import { PrintOptions } from './print.js' */
/** @import { Reduction, VarianceOptions } from './reduce.js' */
/** @import { AxisOptions } from './slice.js' */

import {
  checkBoolean,
  checkNumber,
  checkOptions,
  checkSameShape,
  checkShape,
  copyArray,
  describe,
  MAX_AXES,
  sameShape,
} from '../check.js'
import { GptLayersError } from '../errors.js'
import { binary, unary } from './elementwise.js'
import { giveGradient } from './gradients.js'
import { matmul } from './matmul.js'
import { flatten, nest } from './nested.js'
import { formatTensor } from './print.js'
import { argmax, max, mean, sum, variance } from './reduce.js'
import { checkElements, sizeOf } from './shape.js'
import { at, slice, split } from './slice.js'
import { permute, transpose } from './transpose.js'

/** What the constructor wants to see: only this file can make tensors. */
const KEY = Symbol('key')

/**
 * A float32 tensor, row-major and contiguous, in the memory of the instance that made it. Make one with
 * `gpt.tensor`, `gpt.zeros`, `gpt.ones`, `gpt.rand` or `gpt.randn`.
 *
 * A tensor and its class are frozen: kernels rely on its shape and its place. The elements can change.
 */
export class Tensor {
  /** Private, so that deepEqual and other walks over a tensor do not enter it. @type {Runtime} */ #runtime
  /** @type {Storage | null} */ #storage
  /** @type {Tensor | null} */ #grad = null
  /** Whether this is a parameter that waits for its memory. */ #isMeta
  /** @type {Int8Weight | null} */ #int8Weight = null

  /**
   * @internal
   * @param {symbol} key
   * @param {Runtime} runtime
   * @param {readonly number[]} shape frozen here: not an array that the user gave
   * @param {Storage | null} storage null for a meta tensor
   */
  constructor(key, runtime, shape, storage) {
    if (key !== KEY) {
      const expected = 'made by gpt.tensor, gpt.zeros or another function of an instance'
      throw new GptLayersError('TYPE', `Tensor: a tensor should be ${expected}, got new`)
    }
    this.#runtime = runtime
    /** The size of each axis; `[]` for a single value. @type {readonly number[]} @readonly */
    this.shape = Object.freeze(shape)
    /** The number of elements. @readonly @type {number} */
    this.size = sizeOf(this.shape)
    this.#storage = storage
    this.#isMeta = storage === null
    Object.freeze(this) // private fields stay writable
    runtime.memory.track(this)
  }

  /**
   * Whether value is a tensor itself. A Proxy of one is none, although `instanceof` says so.
   *
   * @internal
   * @param {unknown} value
   * @returns {value is Tensor}
   */
  static isTensor(value) {
    return typeof value === 'object' && value !== null && #storage in value
  }

  /** @internal @returns {Runtime} */
  get runtime() {
    return this.#runtime
  }

  /**
   * A new tensor whose elements are undefined until they are written.
   *
   * @internal
   * @param {Runtime} runtime
   * @param {string} where
   * @param {readonly number[]} shape
   * @returns {Tensor}
   * @throws {GptLayersError} MEMORY, DISPOSED
   */
  static empty(runtime, where, shape) {
    checkElements(where, shape)
    return new Tensor(KEY, runtime, shape, runtime.memory.store(where, sizeOf(shape) * 4))
  }

  /**
   * A new parameter of a layer, whose elements are undefined until they are written. Where `runtime.meta` is
   * set it is a meta tensor, as PyTorch's: it has a shape and no memory, and counts as disposed, until
   * `materialize`.
   *
   * @internal
   * @param {Runtime} runtime
   * @param {string} where
   * @param {readonly number[]} shape
   * @returns {Tensor}
   * @throws {GptLayersError} MEMORY, DISPOSED
   */
  static parameter(runtime, where, shape) {
    if (!runtime.meta) return Tensor.empty(runtime, where, shape)
    checkElements(where, shape)
    return new Tensor(KEY, runtime, shape, null)
  }

  /** Whether this is a parameter that waits for its memory. @internal */
  get isMeta() {
    return this.#isMeta
  }

  /**
   * Gives a meta tensor its memory. The elements are undefined until they are written.
   *
   * @internal
   * @param {string} where
   * @throws {GptLayersError} MEMORY, DISPOSED
   */
  materialize(where) {
    this.#storage = this.#runtime.memory.store(where, 4 * this.size)
    this.#isMeta = false
  }

  /**
   * A tensor in a place that another object owns: nothing here frees it.
   *
   * @internal
   * @param {Runtime} runtime
   * @param {readonly number[]} shape
   * @param {number} offset
   * @returns {Tensor}
   */
  static at(runtime, shape, offset) {
    return new Tensor(KEY, runtime, shape, { offset, holders: Infinity, watched: false })
  }

  /**
   * What a layer's `quantize` has made of this weight, whose own memory is freed since: the tensor counts as
   * disposed. Null for a float32 tensor.
   *
   * @returns {Int8Weight | null}
   */
  get int8Weight() {
    return Tensor.#own(this, 'Tensor.int8Weight').#int8Weight
  }

  /**
   * Frees this weight, in whose place comes another.
   *
   * @internal
   * @param {Int8Weight} int8Weight belongs to this tensor from here on
   */
  becomeInt8(int8Weight) {
    this.dispose()
    this.#int8Weight = int8Weight
  }

  /**
   * A new tensor of given values.
   *
   * @internal
   * @param {Runtime} runtime
   * @param {NestedArray | NumberArray} values
   * @param {readonly number[]} [shape]
   * @returns {Tensor}
   */
  static from(runtime, values, shape) {
    const given = shape === undefined ? undefined : checkShape('tensor', shape)
    const { data, shape: nesting } = flatten('tensor', 'values', values)
    const wanted = given ?? nesting
    const fits = sameShape(nesting, wanted) || (nesting.length === 1 && data.length === sizeOf(wanted))
    if (!fits) {
      throw new GptLayersError(
        'SHAPE',
        `tensor: values should be flat with ${sizeOf(wanted)} elements, or nested, for shape ` +
          `[${wanted.join(', ')}], got shape [${nesting.join(', ')}]`,
      )
    }
    // A view of our own heap is detached when the new tensor grows the heap.
    const source = runtime.memory.isView(data) ? data.slice() : data
    const tensor = Tensor.empty(runtime, 'tensor', wanted)
    tensor.data.set(source)
    return tensor
  }

  /**
   * The sum of the gradients that backward passes have added since `zeroGrad`, of this tensor's shape; null
   * before the first. Only a layer's parameters have one. One that was disposed counts as none.
   *
   * Assigning checks: null, or another live tensor of the same shape and instance.
   *
   * @type {Tensor | null}
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED
   */
  get grad() {
    return Tensor.#own(this, 'Tensor.grad').#grad
  }

  set grad(gradient) {
    const where = 'Tensor.grad'
    const tensor = Tensor.#own(this, where)
    if (gradient !== null) {
      Tensor.#live(tensor, where)
      tensor.#operand(where, 'value', 'a Tensor or null', gradient)
      checkSameShape(where, 'value', gradient.shape, tensor.shape)
      if (gradient === tensor) {
        throw new GptLayersError('VALUE', `${where}: value should be another Tensor, got the tensor itself`)
      }
    }
    tensor.#grad = gradient
  }

  /** Whether this tensor or its instance was disposed. @returns {boolean} */
  get disposed() {
    const tensor = Tensor.#own(this, 'Tensor.disposed')
    return tensor.#storage === null || tensor.#runtime.memory.disposed
  }

  /**
   * Where the elements begin in `gpt.exports.memory`, in bytes: the pointer that a kernel takes.
   *
   * @returns {number}
   * @throws {GptLayersError} DISPOSED
   */
  get byteOffset() {
    return Tensor.#live(this, 'byteOffset').offset
  }

  /**
   * A view of the elements in the instance's memory: writing to it changes the tensor. Get it anew after
   * every call that may allocate memory, because growing the memory detaches all views.
   *
   * @returns {Float32Array} row-major
   * @throws {GptLayersError} DISPOSED
   */
  get data() {
    const { offset } = Tensor.#live(this, 'data')
    return this.#runtime.memory.floats(offset, this.size)
  }

  /**
   * The value of a tensor that has one element.
   *
   * @returns {number}
   * @throws {GptLayersError} SHAPE for another number of elements; DISPOSED
   * @example gpt.tensor([[2]]).item() // 2
   */
  item() {
    Tensor.#live(this, 'item')
    if (this.size !== 1) {
      throw new GptLayersError(
        'SHAPE',
        `item: the tensor should have 1 element, got shape [${this.shape.join(', ')}]`,
      )
    }
    return this.data[0]
  }

  /**
   * The elements as nested arrays; a number for shape `[]`.
   *
   * @returns {NestedArray}
   * @throws {GptLayersError} DISPOSED
   * @example gpt.tensor([1, 2, 3, 4], [2, 2]).toArray() // [[1, 2], [3, 4]]
   */
  toArray() {
    Tensor.#live(this, 'toArray')
    return nest(this.data, this.shape)
  }

  /**
   * What `JSON.stringify` writes: the elements as nested arrays. JSON has no NaN and no infinities: they
   * become null.
   *
   * @returns {NestedArray}
   * @throws {GptLayersError} DISPOSED
   * @example JSON.stringify({ x: gpt.tensor([1, NaN]) }) // '{"x":[1,null]}'
   */
  toJSON() {
    Tensor.#live(this, 'toJSON')
    return this.toArray()
  }

  /**
   * The text that PyTorch's `print` shows, character for character.
   *
   * @param {PrintOptions} [options]
   * @returns {string}
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example String(gpt.tensor([1, 2])) // 'tensor([1., 2.])'
   */
  toString(options = {}) {
    Tensor.#live(this, 'toString')
    const { sciMode, precision } = checkOptions('toString', options, { sciMode: undefined, precision: 4 })
    if (sciMode !== undefined) checkBoolean('toString', 'sciMode', sciMode)
    const isPrecision = (/** @type {number} */ n) => Number.isInteger(n) && n >= 0 && n <= 20
    checkNumber('toString', 'precision', precision, 'an integer from 0 to 20', isPrecision)
    return formatTensor(this.data, this.shape, { sciMode, precision })
  }

  /** The text that Node's `console.log` shows. @internal */
  [Symbol.for('nodejs.util.inspect.custom')]() {
    if (!Tensor.isTensor(this)) return 'tensor(Proxy)'
    return this.disposed ? 'tensor(disposed)' : this.toString()
  }

  /**
   * A copy with its own memory.
   *
   * @returns {Tensor}
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  clone() {
    Tensor.#live(this, 'clone')
    const copy = this.empty('clone', this.shape)
    copy.data.set(this.data)
    return copy
  }

  /**
   * The same elements in another shape. As in PyTorch, the two share their memory: writing to one changes the
   * other.
   *
   * @param {readonly number[]} shape of as many elements. One size may be -1; it is computed from the others
   * @returns {Tensor}
   * @throws {GptLayersError} SHAPE for another number of elements; TYPE, VALUE, DISPOSED
   * @example gpt.zeros([2, 6]).reshape([3, -1]).shape // [3, 4]
   */
  reshape(shape) {
    Tensor.#live(this, 'reshape')
    const sizes = copyArray('reshape', 'shape', shape, 'an array of sizes', MAX_AXES)
    const open = sizes.indexOf(-1)
    const known = checkShape(
      'reshape',
      sizes.map((size, i) => (i === open ? 1 : size)),
    )
    const rest = this.size / sizeOf(known)
    const full = known.map((size, i) => (i === open ? rest : size))
    if ((open >= 0 && !Number.isInteger(rest)) || sizeOf(full) !== this.size) {
      throw new GptLayersError(
        'SHAPE',
        `reshape: shape should hold ${this.size} elements, got [${sizes.join(', ')}]`,
      )
    }
    checkElements('reshape', full)
    const storage = Tensor.#live(this, 'reshape') // a getter of shape may have disposed this tensor
    storage.holders++
    return new Tensor(KEY, this.#runtime, full, storage)
  }

  /**
   * Adds to `grad`, as PyTorch's `parameter.grad += gradient`; a layer's `backward` calls it for each
   * parameter. Within a `backward`, `grad` changes when the outermost `backward` has succeeded; where it
   * fails, `grad` does not change. No scope frees the sum.
   *
   * @param {Tensor} gradient of this tensor's shape; copied
   * @throws {GptLayersError} SHAPE, TYPE, VALUE, DISPOSED, MEMORY
   * @example
   * const bias = gpt.zeros([2])
   * bias.addGradient(gpt.tensor([1, 2]))
   * bias.addGradient(gpt.tensor([1, 2]))
   * bias.grad.toArray() // [2, 4]
   */
  addGradient(gradient) {
    Tensor.#live(this, 'addGradient')
    const dx = this.#operand('addGradient', 'gradient', 'a Tensor', gradient)
    checkSameShape('addGradient', 'gradient', dx.shape, this.shape)
    this.#runtime.scope(() => giveGradient(this, dx.clone()))
  }

  /** Frees `.grad` and makes it null. @internal */
  freeGradient() {
    this.#grad?.dispose()
    this.#grad = null
  }

  /**
   * The sum along an axis, or of all elements.
   *
   * @param {Reduction} [options]
   * @returns {Tensor} 0 for a sum of no elements
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([[1, 2], [3, 5]]).sum({ dim: -1 }).toArray() // [3, 8]
   */
  sum(options = {}) {
    Tensor.#live(this, 'sum')
    return sum(this, options)
  }

  /**
   * The largest element, a tensor of shape `[]`. NaN where there is a NaN, as in PyTorch.
   *
   * @overload
   * @returns {Tensor}
   * @throws {GptLayersError} SHAPE where there are no elements; DISPOSED, MEMORY
   * @example gpt.tensor([[1, 7], [3, 5]]).max().item() // 7
   */
  /**
   * The largest elements along an axis, and the index of each along that axis, as nested arrays: integers are
   * numbers and arrays everywhere here, so Embedding and crossEntropy take them as they are. The first index
   * where several elements are the largest; that of a NaN where there is one.
   *
   * @overload
   * @param {Reduction & { dim: number }} options
   * @returns {{ values: Tensor, indices: NestedArray }}
   * @throws {GptLayersError} SHAPE where the axis has size 0; TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([[1, 7], [3, 5]]).max({ dim: 1 }).indices // [1, 1]
   */
  /**
   * @param {Reduction} [options]
   * @returns {Tensor | { values: Tensor, indices: NestedArray }}
   */
  max(options = {}) {
    Tensor.#live(this, 'max')
    return max(this, options)
  }

  /**
   * The index of the largest element, among all elements in row-major order.
   *
   * @overload
   * @returns {number}
   * @throws {GptLayersError} SHAPE where there are no elements; DISPOSED, MEMORY
   * @example gpt.tensor([[1, 7], [3, 5]]).argmax() // 1
   */
  /**
   * The index of the largest element along an axis, as nested arrays, such as the most probable token at each
   * position; see `max`.
   *
   * @overload
   * @param {Reduction} options
   * @returns {NestedArray} a number where no axis is left
   * @throws {GptLayersError} SHAPE where the axis has size 0; TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([[1, 7], [5, 3]]).argmax({ dim: -1 }) // [1, 0]
   */
  /**
   * @param {Reduction} [options]
   * @returns {NestedArray}
   */
  argmax(options = {}) {
    Tensor.#live(this, 'argmax')
    return argmax(this, options)
  }

  /**
   * The mean along an axis, or of all elements.
   *
   * @param {Reduction} [options]
   * @returns {Tensor} NaN for a mean of no elements
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([[1, 2], [3, 5]]).mean({ dim: -1 }).toArray() // [1.5, 4]
   */
  mean(options = {}) {
    Tensor.#live(this, 'mean')
    return mean(this, options)
  }

  /**
   * The variance along an axis, or of all elements.
   *
   * @param {VarianceOptions} [options]
   * @returns {Tensor} NaN where n is 0, or 1 and unbiased
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([1, 3]).var({ unbiased: false }).item() // 1
   */
  var(options = {}) {
    Tensor.#live(this, 'var')
    return variance(this, options)
  }

  /**
   * @param {Tensor | number} other broadcast as in PyTorch
   * @returns {Tensor} this + other
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  add(other) {
    return Tensor.#binary(this, 'add', 'gpt_add', other)
  }

  /**
   * @param {Tensor | number} other broadcast as in PyTorch
   * @returns {Tensor} this - other
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  sub(other) {
    return Tensor.#binary(this, 'sub', 'gpt_sub', other)
  }

  /**
   * @param {Tensor | number} other broadcast as in PyTorch
   * @returns {Tensor} this · other, element by element
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  mul(other) {
    return Tensor.#binary(this, 'mul', 'gpt_mul', other)
  }

  /**
   * @param {Tensor | number} other broadcast as in PyTorch
   * @returns {Tensor} this / other, element by element
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  div(other) {
    return Tensor.#binary(this, 'div', 'gpt_div', other)
  }

  /**
   * The matrix product, as torch.matmul of matrices.
   *
   * @param {Tensor} other [..., inner, cols], with the same leading axes as this tensor or none
   * @returns {Tensor} [..., rows, cols] for this [..., rows, inner]
   * @throws {GptLayersError} SHAPE, TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.ones([4, 2, 3]).matmul(gpt.ones([4, 3, 5])).shape // [4, 2, 5]
   */
  matmul(other) {
    Tensor.#live(this, 'matmul')
    return matmul(this, this.#operand('matmul', 'other', 'a Tensor', other))
  }

  /**
   * The same elements with the axes in another order. Unlike PyTorch's, a copy.
   *
   * @param {readonly number[]} dims each axis once, negative from the end
   * @returns {Tensor}
   * @throws {GptLayersError} VALUE, DISPOSED, MEMORY
   * @example gpt.zeros([2, 3, 5]).permute([0, 2, 1]).shape // [2, 5, 3]
   */
  permute(dims) {
    Tensor.#live(this, 'permute')
    return permute(this, dims)
  }

  /**
   * The same elements with two axes swapped. Unlike PyTorch's, a copy.
   *
   * @param {number} dim0 an axis, negative from the end
   * @param {number} dim1
   * @returns {Tensor}
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.zeros([2, 3, 5]).transpose(1, 2).shape // [2, 5, 3]
   */
  transpose(dim0, dim1) {
    Tensor.#live(this, 'transpose')
    return transpose(this, dim0, dim1)
  }

  /**
   * The elements at one index of the first axis, as PyTorch's `x[index]`: a tensor of the other axes. Unlike
   * PyTorch's, a copy.
   *
   * @param {number} index negative from the end
   * @returns {Tensor}
   * @throws {GptLayersError} VALUE for an index out of range; SHAPE for a tensor of shape `[]`; TYPE,
   *   DISPOSED, MEMORY
   * @example gpt.tensor([[1, 2], [3, 4]]).at(-1).toArray() // [3, 4]
   */
  at(index) {
    Tensor.#live(this, 'at')
    return at(this, index)
  }

  /**
   * The elements at some indices of an axis, as PyTorch's `x[start:end]`. Unlike PyTorch's, a copy.
   *
   * @param {number} [start] the first index, negative from the end; 0 by default
   * @param {number} [end] the index after the last one, negative from the end; by default the end
   * @param {AxisOptions} [options]
   * @returns {Tensor} without elements where start is not before end
   * @throws {GptLayersError} SHAPE for a tensor of shape `[]`; TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([1, 2, 3, 4]).slice(1, 3).toArray() // [2, 3]
   * @example gpt.zeros([2, 6]).slice(-2, undefined, { dim: 1 }).shape // [2, 2]
   */
  slice(start = 0, end = undefined, options = {}) {
    Tensor.#live(this, 'slice')
    return slice(this, start, end, options)
  }

  /**
   * Pieces along an axis, as torch.split. Unlike PyTorch's, copies.
   *
   * @param {number} size of each piece along the axis; the last one may be smaller
   * @param {AxisOptions} [options]
   * @returns {Tensor[]}
   * @throws {GptLayersError} VALUE, TYPE, DISPOSED, MEMORY
   * @example gpt.zeros([2, 6]).split(2, { dim: -1 }).length // 3
   */
  split(size, options = {}) {
    Tensor.#live(this, 'split')
    return split(this, size, options)
  }

  /**
   * @returns {Tensor} e to the power of each element
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  exp() {
    Tensor.#live(this, 'exp')
    return unary('exp', 'gpt_exp', this)
  }

  /**
   * @returns {Tensor} the square root of each element; NaN below 0
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  sqrt() {
    Tensor.#live(this, 'sqrt')
    return unary('sqrt', 'gpt_sqrt', this)
  }

  /**
   * Frees the memory at once, the gradient's too. Using the tensor afterwards is an error; disposing again is
   * not.
   */
  dispose() {
    /** @type {Tensor | null} */
    let tensor = Tensor.#own(this, 'dispose')
    while (tensor !== null) {
      /** @type {Tensor | null} */
      const grad = tensor.#grad
      tensor.#grad = null
      if (tensor.#storage !== null) tensor.#runtime.memory.drop(tensor.#storage)
      tensor.#storage = null
      tensor.#isMeta = false
      tensor.#int8Weight?.dispose()
      tensor.#int8Weight = null
      tensor = grad
    }
  }

  // Where Symbol.dispose does not exist yet, this defines a method named "undefined", which nobody calls.
  [Symbol.dispose]() {
    this.dispose()
  }

  /**
   * A new tensor of the same instance, whose elements are undefined until they are written.
   *
   * @internal
   * @param {string} where
   * @param {readonly number[]} shape
   * @returns {Tensor}
   */
  empty(where, shape) {
    return Tensor.empty(this.#runtime, where, shape)
  }

  /**
   * @internal
   * @param {number} index of an element
   * @returns {Pointer} its place
   */
  pointerTo(index) {
    return index === 0 ? this : { byteOffset: this.byteOffset + 4 * index }
  }

  /**
   * A second tensor on the same memory that no scope frees: it lasts until it is disposed itself.
   *
   * @internal
   * @returns {Tensor}
   */
  hold() {
    const storage = Tensor.#live(this, 'hold')
    storage.holders++
    return new Tensor(KEY, this.#runtime, this.shape, storage).keep()
  }

  /**
   * From here on no scope frees this tensor, which was made in the innermost scope.
   *
   * @internal
   * @returns {this}
   */
  keep() {
    this.#runtime.memory.untrack(this)
    return this
  }

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {string} where
   * @param {string} name of the argument that is this tensor
   * @throws {GptLayersError} VALUE for another instance's tensor; DISPOSED
   */
  checkUsable(runtime, where, name) {
    if (this.#runtime !== runtime) {
      throw new GptLayersError(
        'VALUE',
        `${where}: ${name} should come from the same load(), got a Tensor of another`,
      )
    }
    if (this.disposed) {
      throw new GptLayersError('DISPOSED', `${where}: ${name} should be a live Tensor, got ${this.#fate()}`)
    }
  }

  /** @returns {string} why there is no memory */
  #fate() {
    if (this.#isMeta) return 'one that has no values before the file is read'
    return this.#int8Weight ? 'one that quantize has made int8: see int8Weight' : 'one that was disposed'
  }

  /**
   * @param {unknown} value the `this` of a method, which a caller may choose
   * @param {string} where
   * @returns {Tensor}
   * @throws {GptLayersError} TYPE
   */
  static #own(value, where) {
    if (Tensor.isTensor(value)) return value
    throw notTensor(where, 'this', 'a Tensor', value)
  }

  /**
   * @param {unknown} value the `this` of a method
   * @param {string} where
   * @returns {Storage}
   * @throws {GptLayersError} TYPE, DISPOSED
   */
  static #live(value, where) {
    const tensor = Tensor.#own(value, where)
    if (tensor.#storage === null || tensor.#runtime.memory.disposed) {
      throw new GptLayersError('DISPOSED', `${where}: the tensor should be live, got ${tensor.#fate()}`)
    }
    return tensor.#storage
  }

  /**
   * @param {string} where
   * @param {string} name
   * @param {string} expected
   * @param {unknown} value
   * @returns {Tensor} a live tensor of the same instance
   */
  #operand(where, name, expected, value) {
    if (!Tensor.isTensor(value)) throw notTensor(where, name, expected, value)
    value.checkUsable(this.#runtime, where, name)
    return value
  }

  /**
   * @param {unknown} value the `this` of a method
   * @param {string} where
   * @param {BinaryKernel} kernel
   * @param {unknown} other
   * @returns {Tensor}
   */
  static #binary(value, where, kernel, other) {
    const tensor = Tensor.#own(value, where)
    Tensor.#live(tensor, where)
    if (typeof other !== 'number') {
      return binary(where, kernel, tensor, tensor.#operand(where, 'other', 'a Tensor or a number', other))
    }
    return tensor.#runtime.scope(() => {
      const number = tensor.empty(where, [])
      number.data[0] = other
      return binary(where, kernel, tensor, number)
    })
  }
}

Reflect.defineProperty(Tensor, 'name', { value: 'Tensor' }) // for errors, whatever a minifier calls the class
Object.freeze(Tensor)
Object.freeze(Tensor.prototype)

/**
 * @param {string} where
 * @param {string} name
 * @param {string} expected
 * @param {unknown} value
 * @returns {GptLayersError} TYPE
 */
export function notTensor(where, name, expected, value) {
  const given = isProxy(value) ? 'a Proxy of one; in Vue use markRaw or shallowRef' : describe(value)
  return new GptLayersError('TYPE', `${where}: ${name} should be ${expected}, got ${given}`)
}

/** @param {unknown} value @returns {boolean} whether it is a Proxy of a tensor */
function isProxy(value) {
  try {
    return value instanceof Tensor && !Tensor.isTensor(value)
  } catch {
    return false // a Proxy whose traps throw
  }
}
