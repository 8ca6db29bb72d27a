/// <reference lib="esnext.disposable" preserve="true" />
/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Storage } from '../runtime/memory.js' */

import { checkBoolean, checkNumber, checkOptions, checkShape, checkSize, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { formatTensor } from './print.js'

/** @param {readonly number[]} shape */
const sizeOf = (shape) => shape.reduce((product, size) => product * size, 1)

/** @typedef {number | NestedList} NestedArray */
/** @typedef {Array<NestedArray>} NestedList */

/** A float32 tensor, row-major and contiguous, in the memory of the instance that made it. */
export class Tensor {
  /** @type {Storage | null} */ #storage
  /** @type {Tensor | null} */ #grad = null

  /**
   * Not for users, who call `gpt.tensor`, `gpt.zeros`, `gpt.randn` ...
   *
   * @internal
   * @param {Runtime} runtime
   * @param {readonly number[]} shape
   * @param {Storage} storage
   */
  constructor(runtime, shape, storage) {
    /** @internal @readonly */
    this.runtime = runtime
    /** The size of each axis; `[]` for a single value. @type {readonly number[]} @readonly */
    this.shape = Object.freeze([...shape])
    /** How many elements there are. @readonly */
    this.size = sizeOf(shape)
    this.#storage = storage
    // Not enumerable, so that a deep comparison or a walk over a tensor does not wander into the runtime.
    Object.defineProperty(this, 'runtime', { enumerable: false })
    runtime.memory.track(this)
  }

  /**
   * A tensor whose elements are yet to be written.
   *
   * @internal
   * @param {Runtime} runtime
   * @param {string} where
   * @param {readonly number[]} shape
   */
  static empty(runtime, where, shape) {
    return new Tensor(runtime, shape, runtime.memory.store(where, sizeOf(shape) * 4))
  }

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {unknown} values
   * @param {unknown} [shape]
   */
  static from(runtime, values, shape) {
    if (shape !== undefined) checkShape('tensor', shape)
    const given = isTyped(values)
      ? { data: values, shape: [values.length] }
      : flattened('tensor', 'values', values)
    const { data, shape: actual } = given
    const wanted = shape ?? actual
    const fits = sameShape(actual, wanted) || (actual.length === 1 && data.length === sizeOf(wanted))
    if (!fits) {
      throw new GptLayersError(
        'SHAPE',
        `tensor: values should be flat with ${sizeOf(wanted)} elements, or nested, for shape ` +
          `[${wanted.join(', ')}], got shape [${actual.join(', ')}]`,
      )
    }
    const tensor = Tensor.empty(runtime, 'tensor', wanted)
    tensor.data.set(data)
    return tensor
  }

  /**
   * What the backward passes since `zeroGrad` have added up, of the same shape; null before the first. Only a layer's
   * parameters ever have one.
   *
   * @type {Tensor | null}
   */
  get grad() {
    return this.#grad
  }

  set grad(gradient) {
    this.#grad = gradient
  }

  /** Whether the tensor was disposed, or the instance that made it. @returns {boolean} */
  get disposed() {
    return this.#storage === null || this.runtime.memory.disposed
  }

  /**
   * Where the elements begin in `gpt.exports.memory`, in bytes: what a kernel takes for a pointer.
   *
   * @returns {number}
   * @throws {GptLayersError} DISPOSED
   */
  get byteOffset() {
    return this.#live('byteOffset').offset
  }

  /**
   * The elements, a view of the live memory: writing to it changes the tensor. Take it again after the next call,
   * which may move the memory.
   *
   * @returns {Float32Array} row-major
   * @throws {GptLayersError} DISPOSED
   */
  get data() {
    return this.runtime.memory.floats(this.#live('data').offset, this.size)
  }

  /**
   * The value of a tensor that has only one.
   *
   * @returns {number}
   * @throws {GptLayersError} SHAPE when there are more, or none
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
   * What `print` shows in PyTorch, character for character.
   *
   * @param {{ sciMode?: boolean, precision?: number }} [options] sciMode: scientific notation on or off, as
   *   `torch.set_printoptions(sci_mode=...)`; left out, PyTorch's rules choose. precision: digits after the point.
   * @returns {string}
   * @example String(gpt.tensor([1, 2])) // 'tensor([1., 2.])'
   */
  toString(options = {}) {
    this.#live('toString')
    const { sciMode, precision } = checkOptions('toString', options, { sciMode: undefined, precision: 4 })
    if (sciMode !== undefined) checkBoolean('toString', 'sciMode', sciMode)
    checkNumber(
      'toString',
      'precision',
      precision,
      'an integer from 0 to 20',
      (n) => Number.isInteger(n) && n >= 0 && n <= 20,
    )
    return formatTensor(this.data, this.shape, { sciMode, precision })
  }

  /** What Node's `console.log` shows. @internal */
  [Symbol.for('nodejs.util.inspect.custom')]() {
    return this.disposed ? 'tensor(disposed)' : this.toString()
  }

  /** A copy with memory of its own. @returns {Tensor} */
  clone() {
    this.#live('clone')
    const copy = Tensor.empty(this.runtime, 'clone', this.shape)
    copy.data.set(this.data)
    return copy
  }

  /**
   * The same elements in another shape. As in PyTorch, the two share their memory: writing to one changes the other.
   *
   * @param {readonly number[]} shape as many elements; one size may be -1, which is then worked out
   * @returns {Tensor}
   * @throws {GptLayersError} SHAPE when the number of elements differs
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
   * The same tensor once more, held until it is disposed itself: no scope frees it.
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
   * Adds to the gradient, or makes it the first one.
   *
   * @internal
   * @param {Tensor} gradient of the same shape; it may share its memory with `.grad` from here on
   */
  accumulate(gradient) {
    if (this.grad === null || this.grad.disposed) {
      this.grad = gradient.hold()
      return
    }
    const { byteOffset } = this.grad
    this.runtime.call(
      'gpt_add',
      byteOffset,
      byteOffset,
      gradient.byteOffset,
      1,
      this.size,
      0,
      1,
      0,
      1,
    )
  }

  /**
   * The mean along an axis, or of all elements.
   *
   * @param {{ dim?: number, keepdim?: boolean }} [options] dim: the axis, negative from the end; left out, all
   *   elements. keepdim: keep the axis, with size 1.
   * @returns {Tensor}
   */
  mean(options = {}) {
    this.#live('mean')
    const { dim, keepdim } = checkOptions('mean', options, { dim: undefined, keepdim: false })
    return this.#reduce('mean', dim, keepdim, (result, x, rows, cols) =>
      this.runtime.call('gpt_mean', result, x, rows, cols),
    )
  }

  /**
   * The variance along an axis, or of all elements.
   *
   * @param {{ dim?: number, keepdim?: boolean, unbiased?: boolean }} [options] dim, keepdim: as for `mean`. unbiased:
   *   divide by n - 1 (true, PyTorch's default) or by n (false, as layer normalisation does).
   * @returns {Tensor} NaN where unbiased and n is 1
   */
  var(options = {}) {
    this.#live('var')
    const { dim, keepdim, unbiased } = checkOptions('var', options, {
      dim: undefined,
      keepdim: false,
      unbiased: true,
    })
    checkBoolean('var', 'unbiased', unbiased)
    return this.#reduce('var', dim, keepdim, (result, x, rows, cols) =>
      this.runtime.call('gpt_var', result, x, rows, cols, Number(unbiased)),
    )
  }

  /** @param {Tensor | number} other @returns {Tensor} this + other, broadcast as in PyTorch */
  add(other) {
    return this.#binary('add', 'gpt_add', other)
  }

  /** @param {Tensor | number} other @returns {Tensor} this - other, broadcast as in PyTorch */
  sub(other) {
    return this.#binary('sub', 'gpt_sub', other)
  }

  /** @param {Tensor | number} other @returns {Tensor} this · other elementwise, broadcast as in PyTorch */
  mul(other) {
    return this.#binary('mul', 'gpt_mul', other)
  }

  /** @param {Tensor | number} other @returns {Tensor} this / other elementwise, broadcast as in PyTorch */
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
    const { runtime } = this
    const b = runtime.checkTensor('matmul', 'other', other)
    const [rows, inner] = this.shape.slice(-2)
    const cols = b.shape.at(-1) ?? 0
    const wanted = b.shape.length === 2 ? [inner] : [...this.shape.slice(0, -2), inner]
    if (this.shape.length < 2 || b.shape.length < 2 || !sameShape(b.shape.slice(0, -1), wanted)) {
      throw new GptLayersError(
        'SHAPE',
        `matmul: other should have shape [${wanted.join(', ')}, cols] for a tensor of shape [${this.shape.join(', ')}], ` +
          `got shape [${b.shape.join(', ')}]`,
      )
    }
    const count = b.shape.length === 2 ? 1 : sizeOf(b.shape.slice(0, -2))
    const each = (sizeOf(this.shape.slice(0, -2)) / Math.max(count, 1)) * rows
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, 'matmul', [...this.shape.slice(0, -1), cols])
      const scratch = Tensor.empty(runtime, 'matmul', [runtime.exports.gpt_conv1d_scratch_size(each, inner)])
      for (let i = 0; i < count; i++) {
        runtime.call(
          'gpt_conv1d_forward', // which is a matrix product, and a bias that may be left out
          y.byteOffset + 4 * i * each * cols,
          scratch.byteOffset,
          this.byteOffset + 4 * i * each * inner,
          b.byteOffset + 4 * i * inner * cols,
          0,
          each,
          inner,
          cols,
          0,
          1,
        )
      }
      return y
    })
  }

  /**
   * The same elements with the axes in another order. Unlike PyTorch's, a copy.
   *
   * @param {readonly number[]} dims each axis once, negative from the end
   * @returns {Tensor}
   * @throws {GptLayersError} VALUE, TYPE, DISPOSED, MEMORY
   * @example gpt.zeros([2, 3, 5]).permute([0, 2, 1]).shape // [2, 5, 3]
   */
  permute(dims) {
    this.#live('permute')
    const rank = this.shape.length
    const order = Array.isArray(dims) ? dims.map((dim) => (dim < 0 ? dim + rank : dim)) : []
    if (order.length !== rank || !this.shape.every((_, axis) => order.includes(axis))) {
      throw new GptLayersError(
        'VALUE',
        `permute: dims should name each of ${rank} axes once, got ${describe(dims)}`,
      )
    }
    const { runtime } = this
    return runtime.scope(() => {
      let [moved, axes] = [this.clone(), this.shape.map((_, axis) => axis)]
      order.forEach((axis, to) => {
        // what stands from `to` up to the axis changes places with it
        const from = axes.indexOf(axis)
        if (from === to) return
        const size = (/** @type {number} */ begin, /** @type {number} */ end) =>
          axes.slice(begin, end).reduce((product, i) => product * this.shape[i], 1)
        const y = Tensor.empty(runtime, 'permute', moved.shape)
        const sizes = [size(0, to), size(to, from), size(from, from + 1), size(from + 1, rank)]
        runtime.call('gpt_transpose', y.byteOffset, moved.byteOffset, ...sizes)
        moved = y
        axes = [...axes.slice(0, to), axis, ...axes.slice(to, from), ...axes.slice(from + 1)]
      })
      return moved.reshape(order.map((axis) => this.shape[axis]))
    })
  }

  /**
   * Pieces along an axis, as torch.split's, but copies.
   *
   * @param {number} size of each piece along the axis; the last one may be smaller
   * @param {{ dim?: number }} [options] dim: the axis, 0 by default
   * @returns {Tensor[]}
   * @throws {GptLayersError} VALUE, TYPE, DISPOSED, MEMORY
   * @example gpt.zeros([2, 6]).split(2, { dim: -1 }).length // 3
   */
  split(size, options = {}) {
    this.#live('split')
    checkSize('split', 'size', size)
    const { dim } = checkOptions('split', options, { dim: 0 })
    const { runtime, shape } = this
    const axis = checkAxis('split', dim, shape.length)
    const whole = shape[axis] ?? 1
    const inner = sizeOf(shape.slice(axis + 1))
    return runtime.scope(() =>
      Array.from({ length: Math.max(1, Math.ceil(whole / size)) }, (_, piece) => {
        const begin = piece * size
        const length = Math.min(size, whole - begin)
        const y = Tensor.empty(
          runtime,
          'split',
          shape.map((n, i) => (i === axis ? length : n)),
        )
        const [from, to] = [this.data, y.data]
        for (let outer = 0; outer * length * inner < to.length; outer++) {
          const start = (outer * whole + begin) * inner
          to.set(from.subarray(start, start + length * inner), outer * length * inner)
        }
        return y
      }),
    )
  }

  /** @returns {Tensor} the square root of each element; NaN below 0 */
  sqrt() {
    this.#live('sqrt')
    const y = Tensor.empty(this.runtime, 'sqrt', this.shape)
    this.runtime.call('gpt_sqrt', y.byteOffset, this.byteOffset, this.size)
    return y
  }

  /** Frees the memory at once, the gradient's too. Any use afterwards is an error; disposing again is not. */
  dispose() {
    this.grad?.dispose()
    if (this.#storage === null) return
    this.runtime.memory.drop(this.#storage)
    this.#storage = null
  }

  // Where Symbol.dispose does not exist yet, this is a method named "undefined", which nobody calls.
  [Symbol.dispose]() {
    this.dispose()
  }

  /** @param {string} where @returns {Storage} */
  #live(where) {
    if (this.#storage === null || this.disposed) {
      throw new GptLayersError('DISPOSED', `${where}: the tensor should be live, got one that was disposed`)
    }
    return this.#storage
  }

  /**
   * Reduces one axis with a kernel that reduces the last.
   *
   * @param {string} where
   * @param {unknown} dim
   * @param {boolean} keepdim
   * @param {(result: number, x: number, rows: number, cols: number) => void} kernel
   * @returns {Tensor}
   */
  #reduce(where, dim, keepdim, kernel) {
    checkBoolean(where, 'keepdim', keepdim)
    const { runtime, shape } = this
    if (dim === undefined) {
      const result = Tensor.empty(runtime, where, keepdim ? shape.map(() => 1) : [])
      kernel(result.byteOffset, this.byteOffset, 1, this.size)
      return result
    }
    const axis = checkAxis(where, dim, shape.length)
    const cols = shape[axis] ?? 1 // an axis of a single value has that one
    const inner = sizeOf(shape.slice(axis + 1))
    const outer = sizeOf(shape.slice(0, axis))
    const kept = shape.map((size, i) => (i === axis ? 1 : size))
    return runtime.scope(() => {
      const result = Tensor.empty(runtime, where, keepdim ? kept : kept.filter((_, i) => i !== axis))
      let x = this.byteOffset
      if (inner !== 1) {
        const moved = Tensor.empty(runtime, where, [outer, inner, cols])
        runtime.call('gpt_transpose', moved.byteOffset, x, outer, cols, inner, 1)
        x = moved.byteOffset
      }
      kernel(result.byteOffset, x, outer * inner, cols)
      return result
    })
  }

  /**
   * @param {string} where
   * @param {'gpt_add' | 'gpt_sub' | 'gpt_mul' | 'gpt_div'} kernel
   * @param {unknown} other
   * @returns {Tensor}
   */
  #binary(where, kernel, other) {
    this.#live(where)
    const { runtime } = this
    if (typeof other === 'number') {
      return runtime.scope(() => this.#binary(where, kernel, Tensor.from(runtime, other)))
    }
    if (!(other instanceof Tensor)) {
      throw new GptLayersError(
        'TYPE',
        `${where}: other should be a Tensor or a number, got ${describe(other)}`,
      )
    }
    const b = runtime.checkTensor(where, 'other', other)
    const shape = broadcast(where, this.shape, b.shape)
    const y = Tensor.empty(runtime, where, shape)
    if (y.size === 0) return y
    // The kernel takes two axes; whatever lies outside them is a loop here.
    const axes = mergedAxes(shape, this.shape, b.shape)
    const cols = axes.pop() ?? { size: 1, a: 0, b: 0 }
    const rows = axes.pop() ?? { size: 1, a: 0, b: 0 }
    const step = rows.size * cols.size
    const walk = (
      /** @type {number} */ axis,
      /** @type {number} */ at,
      /** @type {number} */ aAt,
      /** @type {number} */ bAt,
    ) => {
      if (axis === axes.length) {
        runtime.call(
          kernel,
          y.byteOffset + 4 * at * step,
          this.byteOffset + 4 * aAt,
          b.byteOffset + 4 * bAt,
          rows.size,
          cols.size,
          rows.a,
          cols.a,
          rows.b,
          cols.b,
        )
        return
      }
      const { size, a, b: bStride } = axes[axis]
      for (let i = 0; i < size; i++) walk(axis + 1, at * size + i, aAt + i * a, bAt + i * bStride)
    }
    walk(0, 0, 0, 0)
    return y
  }
}

/** @typedef {Float32Array | Float64Array | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array} NumberArray */

/** @internal @param {unknown} values @returns {values is NumberArray} */
export function isTyped(values) {
  return (
    ArrayBuffer.isView(values) &&
    !(values instanceof DataView) &&
    !(values instanceof BigInt64Array || values instanceof BigUint64Array)
  )
}

/**
 * @internal
 * @param {string} where
 * @param {string} name
 * @param {unknown} values a number or nested arrays of numbers
 * @returns {{ data: number[], shape: number[] }}
 */
export function flattened(where, name, values) {
  /** @type {number[]} */
  const data = []
  const visit = (/** @type {unknown} */ value, /** @type {string} */ path) => {
    if (typeof value === 'number') {
      data.push(value)
      return []
    }
    if (!Array.isArray(value) && !isTyped(value)) {
      throw new GptLayersError(
        'TYPE',
        `${where}: ${path} should be a number or an array, got ${describe(value)}`,
      )
    }
    /** @type {number[] | undefined} */
    let first
    for (let i = 0; i < value.length; i++) {
      const shape = visit(value[i], `${path}[${i}]`)
      first ??= shape
      if (!sameShape(shape, first)) {
        throw new GptLayersError(
          'SHAPE',
          `${where}: ${path}[${i}] should have shape [${first.join(', ')}] like ${path}[0], got [${shape.join(', ')}]`,
        )
      }
    }
    return [value.length, ...(first ?? [])]
  }
  return { shape: visit(values, name), data }
}

/**
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 */
function sameShape(a, b) {
  return a.length === b.length && a.every((size, i) => size === b[i])
}

/**
 * @param {string} where
 * @param {unknown} dim
 * @param {number} rank
 * @returns {number} from 0
 */
function checkAxis(where, dim, rank) {
  const axes = Math.max(rank, 1)
  const exists = (/** @type {number} */ axis) => Number.isInteger(axis) && axis >= -axes && axis < axes
  checkNumber(where, 'dim', dim, `an axis from ${-axes} to ${axes - 1}`, exists)
  return dim < 0 ? dim + axes : dim
}

/**
 * The shape two tensors broadcast to: aligned at the last axis, each pair of sizes equal or one of them 1.
 *
 * @param {string} where
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 * @returns {number[]}
 */
function broadcast(where, a, b) {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, i) => {
    const sizeA = a[a.length - rank + i] ?? 1
    const sizeB = b[b.length - rank + i] ?? 1
    if (sizeA !== sizeB && sizeA !== 1 && sizeB !== 1) {
      throw new GptLayersError(
        'SHAPE',
        `${where}: other should broadcast with shape [${a.join(', ')}], got shape [${b.join(', ')}]`,
      )
    }
    return sizeA === 1 ? sizeB : sizeA
  })
}

/**
 * The axes of a broadcast result with the strides of both operands (0 where one repeats), as few as will do: axes of
 * size 1 are left out, and neighbours that both operands run through without a jump are one.
 *
 * @param {readonly number[]} shape
 * @param {readonly number[]} shapeA
 * @param {readonly number[]} shapeB
 * @returns {{ size: number, a: number, b: number }[]}
 */
function mergedAxes(shape, shapeA, shapeB) {
  /** @type {{ size: number, a: number, b: number }[]} */
  const axes = []
  let strideA = 1
  let strideB = 1
  for (let i = 1; i <= shape.length; i++) {
    const size = shape.at(-i) ?? 1
    const sizeA = shapeA.at(-i) ?? 1
    const sizeB = shapeB.at(-i) ?? 1
    if (size !== 1) {
      const axis = { size, a: sizeA === 1 ? 0 : strideA, b: sizeB === 1 ? 0 : strideB }
      const inner = axes[0]
      if (inner && axis.a === inner.a * inner.size && axis.b === inner.b * inner.size) inner.size *= size
      else axes.unshift(axis)
    }
    strideA *= sizeA
    strideB *= sizeB
  }
  return axes
}
