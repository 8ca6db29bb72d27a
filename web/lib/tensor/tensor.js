/// <reference lib="esnext.disposable" preserve="true" />
/** @import { Pointer, Runtime } from '../runtime/runtime.js' */
/** @import { Storage } from '../runtime/memory.js' */
/** @import { BinaryKernel } from './elementwise.js' */
/** @import { NestedArray, NumberArray } from './nested.js' */

import { checkBoolean, checkNumber, checkOptions, checkShape, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { binary, sqrt } from './elementwise.js'
import { matmul } from './matmul.js'
import { flatten } from './nested.js'
import { formatTensor } from './print.js'
import { mean, variance } from './reduce.js'
import { sameShape, sizeOf } from './shape.js'
import { split } from './split.js'
import { permute } from './transpose.js'

/**
 * A float32 tensor, row-major and contiguous, in the memory of the instance that made it. Make one with
 * `gpt.tensor`, `gpt.zeros`, `gpt.ones`, `gpt.rand` or `gpt.randn`.
 */
export class Tensor {
  /** Private, so that deepEqual and other walks over a tensor do not enter it. @type {Runtime} */ #runtime
  /** @type {Storage | null} */ #storage
  /** @type {Tensor | null} */ #grad = null

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {readonly number[]} shape
   * @param {Storage} storage
   */
  constructor(runtime, shape, storage) {
    this.#runtime = runtime
    /** The size of each axis; `[]` for a single value. @type {readonly number[]} @readonly */
    this.shape = Object.freeze([...shape])
    /** The number of elements. @readonly @type {number} */
    this.size = sizeOf(shape)
    this.#storage = storage
    runtime.memory.track(this)
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
    return new Tensor(runtime, shape, runtime.memory.store(where, sizeOf(shape) * 4))
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
    if (shape !== undefined) checkShape('tensor', shape)
    const { data, shape: nesting } = flatten('tensor', 'values', values)
    const wanted = shape ?? nesting
    const fits = sameShape(nesting, wanted) || (nesting.length === 1 && data.length === sizeOf(wanted))
    if (!fits) {
      throw new GptLayersError(
        'SHAPE',
        `tensor: values should be flat with ${sizeOf(wanted)} elements, or nested, for shape ` +
          `[${wanted.join(', ')}], got shape [${nesting.join(', ')}]`,
      )
    }
    const tensor = Tensor.empty(runtime, 'tensor', wanted)
    tensor.data.set(data)
    return tensor
  }

  /**
   * The sum of the gradients that backward passes have added since `zeroGrad`, of this tensor's shape; null
   * before the first. Only a layer's parameters have one.
   *
   * @type {Tensor | null}
   */
  get grad() {
    return this.#grad
  }

  set grad(gradient) {
    this.#grad = gradient
  }

  /** Whether this tensor or its instance was disposed. @returns {boolean} */
  get disposed() {
    return this.#storage === null || this.runtime.memory.disposed
  }

  /**
   * Where the elements begin in `gpt.exports.memory`, in bytes: the pointer that a kernel takes.
   *
   * @returns {number}
   * @throws {GptLayersError} DISPOSED
   */
  get byteOffset() {
    return this.#live('byteOffset').offset
  }

  /**
   * A view of the elements in the instance's memory: writing to it changes the tensor. Get it anew after
   * every call that may allocate memory, because growing the memory detaches all views.
   *
   * @returns {Float32Array} row-major
   * @throws {GptLayersError} DISPOSED
   */
  get data() {
    return this.runtime.memory.floats(this.#live('data').offset, this.size)
  }

  /**
   * The value of a tensor that has one element.
   *
   * @returns {number}
   * @throws {GptLayersError} SHAPE for another number of elements; DISPOSED
   * @example gpt.tensor([[2]]).item() // 2
   */
  item() {
    this.#live('item')
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
    this.#live('toArray')
    const { data, shape } = this
    let next = 0
    /** @type {(axis: number) => NestedArray} */
    const nest = (axis) =>
      axis === shape.length ? data[next++] : Array.from({ length: shape[axis] }, () => nest(axis + 1))
    return nest(0)
  }

  /**
   * The text that PyTorch's `print` shows, character for character.
   *
   * @param {{ sciMode?: boolean, precision?: number }} [options] sciMode: scientific notation on or off, as
   *   `torch.set_printoptions(sci_mode=...)`; by default PyTorch's rules choose. precision: digits after the
   *   point, 0 to 20; 4 by default.
   * @returns {string}
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED
   * @example String(gpt.tensor([1, 2])) // 'tensor([1., 2.])'
   */
  toString(options = {}) {
    this.#live('toString')
    const { sciMode, precision } = checkOptions('toString', options, { sciMode: undefined, precision: 4 })
    if (sciMode !== undefined) checkBoolean('toString', 'sciMode', sciMode)
    const isPrecision = (/** @type {number} */ n) => Number.isInteger(n) && n >= 0 && n <= 20
    checkNumber('toString', 'precision', precision, 'an integer from 0 to 20', isPrecision)
    return formatTensor(this.data, this.shape, { sciMode, precision })
  }

  /** The text that Node's `console.log` shows. @internal */
  [Symbol.for('nodejs.util.inspect.custom')]() {
    return this.disposed ? 'tensor(disposed)' : this.toString()
  }

  /**
   * A copy with its own memory.
   *
   * @returns {Tensor}
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  clone() {
    this.#live('clone')
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
    const storage = this.#live('reshape')
    const open = Array.isArray(shape) ? shape.indexOf(-1) : -1
    const known = open < 0 ? shape : shape.filter((_, i) => i !== open)
    checkShape('reshape', known)
    const rest = this.size / sizeOf(known)
    const full = open < 0 ? known : shape.map((size, i) => (i === open ? rest : size))
    if ((open >= 0 && !Number.isInteger(rest)) || sizeOf(full) !== this.size) {
      throw new GptLayersError(
        'SHAPE',
        `reshape: shape should hold ${this.size} elements, got [${shape.join(', ')}]`,
      )
    }
    storage.holders++
    return new Tensor(this.runtime, full, storage)
  }

  /**
   * Adds to `grad`, as PyTorch's `parameter.grad += gradient`; a layer's `backward` calls it for each
   * parameter. The sum outlives the scope that it is made in.
   *
   * @param {Tensor} gradient of this tensor's shape; the first one may share its memory with `grad` from here
   *   on
   * @throws {GptLayersError} SHAPE, TYPE, VALUE, DISPOSED
   * @example
   * const bias = gpt.zeros([2])
   * bias.addGradient(gpt.tensor([1, 2]))
   * bias.addGradient(gpt.tensor([1, 2]))
   * bias.grad.toArray() // [2, 4]
   */
  addGradient(gradient) {
    this.#live('addGradient')
    const dx = this.#operand('addGradient', 'gradient', 'a Tensor', gradient)
    if (!sameShape(dx.shape, this.shape)) {
      const shapes = `shape [${this.shape.join(', ')}], got [${dx.shape.join(', ')}]`
      throw new GptLayersError('SHAPE', `addGradient: gradient should have ${shapes}`)
    }
    const { grad } = this
    if (grad === null || grad.disposed) this.grad = dx.hold()
    else this.runtime.run('gpt_add', [grad, grad, dx, 1, this.size, 0, 1, 0, 1])
  }

  /** Frees `.grad` and makes it null. @internal */
  freeGradient() {
    this.grad?.dispose()
    this.grad = null
  }

  /**
   * The mean along an axis, or of all elements.
   *
   * @param {{ dim?: number, keepdim?: boolean }} [options] dim: the axis, negative from the end; by default
   *   all elements. keepdim: keep the axis, with size 1.
   * @returns {Tensor} NaN for a mean of no elements
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([[1, 2], [3, 5]]).mean({ dim: -1 }).toArray() // [1.5, 4]
   */
  mean(options = {}) {
    this.#live('mean')
    return mean(this, options)
  }

  /**
   * The variance along an axis, or of all elements.
   *
   * @param {{ dim?: number, keepdim?: boolean, unbiased?: boolean }} [options] dim, keepdim: as for `mean`.
   *   unbiased: divide by n - 1 (true, PyTorch's default) or by n (false, as layer normalization does).
   * @returns {Tensor} NaN where n is 0, or 1 and unbiased
   * @throws {GptLayersError} TYPE, VALUE, DISPOSED, MEMORY
   * @example gpt.tensor([1, 3]).var({ unbiased: false }).item() // 1
   */
  var(options = {}) {
    this.#live('var')
    return variance(this, options)
  }

  /**
   * @param {Tensor | number} other broadcast as in PyTorch
   * @returns {Tensor} this + other
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  add(other) {
    return this.#binary('add', 'gpt_add', other)
  }

  /**
   * @param {Tensor | number} other broadcast as in PyTorch
   * @returns {Tensor} this - other
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  sub(other) {
    return this.#binary('sub', 'gpt_sub', other)
  }

  /**
   * @param {Tensor | number} other broadcast as in PyTorch
   * @returns {Tensor} this · other, element by element
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  mul(other) {
    return this.#binary('mul', 'gpt_mul', other)
  }

  /**
   * @param {Tensor | number} other broadcast as in PyTorch
   * @returns {Tensor} this / other, element by element
   * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED, MEMORY
   */
  div(other) {
    return this.#binary('div', 'gpt_div', other)
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
    this.#live('matmul')
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
    this.#live('permute')
    return permute(this, dims)
  }

  /**
   * Pieces along an axis, as torch.split. Unlike PyTorch's, copies.
   *
   * @param {number} size of each piece along the axis; the last one may be smaller
   * @param {{ dim?: number }} [options] dim: the axis, negative from the end; 0 by default
   * @returns {Tensor[]}
   * @throws {GptLayersError} VALUE, TYPE, DISPOSED, MEMORY
   * @example gpt.zeros([2, 6]).split(2, { dim: -1 }).length // 3
   */
  split(size, options = {}) {
    this.#live('split')
    return split(this, size, options)
  }

  /**
   * @returns {Tensor} the square root of each element; NaN below 0
   * @throws {GptLayersError} DISPOSED, MEMORY
   */
  sqrt() {
    this.#live('sqrt')
    return sqrt(this)
  }

  /**
   * Frees the memory at once, the gradient's too. Using the tensor afterwards is an error; disposing again is
   * not.
   */
  dispose() {
    this.grad?.dispose()
    if (this.#storage === null) return
    this.runtime.memory.drop(this.#storage)
    this.#storage = null
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
    return Tensor.empty(this.runtime, where, shape)
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
    const storage = this.#live('hold')
    storage.holders++
    const held = new Tensor(this.runtime, this.shape, storage)
    this.runtime.memory.untrack(held)
    return held
  }

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {string} where
   * @param {string} name of the argument that is this tensor
   * @throws {GptLayersError} VALUE for another instance's tensor; DISPOSED
   */
  checkUsable(runtime, where, name) {
    if (this.runtime !== runtime) {
      throw new GptLayersError(
        'VALUE',
        `${where}: ${name} should come from the same load(), got a Tensor of another`,
      )
    }
    if (this.disposed) {
      throw new GptLayersError(
        'DISPOSED',
        `${where}: ${name} should be a live Tensor, got one that was disposed`,
      )
    }
  }

  /** @param {string} where @returns {Storage} */
  #live(where) {
    if (this.#storage === null || this.disposed) {
      throw new GptLayersError('DISPOSED', `${where}: the tensor should be live, got one that was disposed`)
    }
    return this.#storage
  }

  /**
   * @param {string} where
   * @param {string} name
   * @param {string} expected
   * @param {unknown} value
   * @returns {Tensor} a live tensor of the same instance
   */
  #operand(where, name, expected, value) {
    if (!(value instanceof Tensor)) {
      throw new GptLayersError('TYPE', `${where}: ${name} should be ${expected}, got ${describe(value)}`)
    }
    value.checkUsable(this.runtime, where, name)
    return value
  }

  /**
   * @param {string} where
   * @param {BinaryKernel} kernel
   * @param {unknown} other
   * @returns {Tensor}
   */
  #binary(where, kernel, other) {
    this.#live(where)
    if (typeof other !== 'number') {
      return binary(where, kernel, this, this.#operand(where, 'other', 'a Tensor or a number', other))
    }
    return this.runtime.scope(() => {
      const number = this.empty(where, [])
      number.data[0] = other
      return binary(where, kernel, this, number)
    })
  }
}
