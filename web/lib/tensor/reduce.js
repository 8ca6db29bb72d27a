/** @import { NestedArray } from './nested.js' */
/** @import { Tensor } from './tensor.js' */

import { checkBoolean, checkOptions } from '../check.js'
import { fail } from '../errors.js'
import { record } from '../runtime/tape.js'
import { nest } from './nested.js'
import { checkAxis, sizeOf } from './shape.js'

/**
 * @typedef {object} Reduction
 * @property {number} [dim] the axis, negative from the end; by default all elements
 * @property {boolean} [keepdim] whether to keep the axis, with size 1; false by default
 */

/**
 * @typedef {object} Bias
 * @property {boolean} [unbiased] whether to divide by n - 1 (true, PyTorch's default) or by n (false, as
 *   layer normalization does)
 *
 * @typedef {Reduction & Bias} VarianceOptions
 */

/** @type {Reduction} */
const DEFAULTS = { dim: undefined, keepdim: false }

/** @param {Tensor} x @param {Reduction} options @returns {Tensor} y = Σ x; dx = dy along the axis */
export function sum(x, options) {
  const reduction = checkOptions(options, DEFAULTS)
  const y = reduce(x, reduction, (result, matrix, rows, cols) =>
    x.runtime.run('gpt_sum', [result, matrix, rows, cols]),
  )
  const { shape } = x
  return record(y, [x], (dy) => [spread(dy, shape, reduction)], [])
}

/** @param {Tensor} x @param {Reduction} options @returns {Tensor} y = Σ x / n; dx = dy / n */
export function mean(x, options) {
  const reduction = checkOptions(options, DEFAULTS)
  const y = reduce(x, reduction, (result, matrix, rows, cols) =>
    x.runtime.run('gpt_mean', [result, matrix, rows, cols]),
  )
  const { shape, size } = x
  return record(y, [x], (dy) => [spread(dy.div(size / y.size), shape, reduction)], [])
}

/**
 * @param {Tensor} x
 * @param {VarianceOptions} options
 * @returns {Tensor} y = Σ (x - mean)² / n, with n - 1 in place of n where unbiased; dx = 2 · (x - mean) · dy
 *   / n
 */
export function variance(x, options) {
  const { unbiased, ...reduction } = checkOptions(options, { ...DEFAULTS, unbiased: true })
  checkBoolean('unbiased', unbiased)
  const y = reduce(x, reduction, (result, matrix, rows, cols) =>
    x.runtime.run('gpt_var', [result, matrix, rows, cols, unbiased]),
  )
  const backward = (/** @type {Tensor} */ dy) => {
    const n = x.size / y.size
    const deviations = x.sub(spread(x.mean({ dim: reduction.dim }), x.shape, { dim: reduction.dim }))
    return [deviations.mul(spread(dy.mul(2 / (unbiased ? n - 1 : n)), x.shape, reduction))]
  }
  return record(y, [x], backward, [x])
}

/**
 * The gradient of a maximum goes to the element at its index. Without `dim` it is divided equally among all
 * elements that equal the maximum. Both as in PyTorch.
 *
 * @param {Tensor} x
 * @param {Reduction} options
 * @returns {Tensor | { values: Tensor, indices: NestedArray }}
 */
export function max(x, options) {
  const reduction = checkOptions(options, DEFAULTS)
  const { runtime, shape } = x
  if (reduction.dim === undefined) {
    const values = reduceSome(x, reduction, (result, matrix, rows, cols) =>
      runtime.run('gpt_max', [result, null, matrix, rows, cols]),
    )
    const backward = (/** @type {Tensor} */ dy) => {
      const [largest] = values.data
      const isLargest = Float32Array.from(x.data, (value) =>
        Number(Object.is(value, largest) || value === largest),
      )
      const count = isLargest.reduce((sum, one) => sum + one, 0)
      const dx = x.empty(shape)
      const share = dy.item() / count
      dx.data.set(isLargest.map((one) => (one === 1 ? share : 0)))
      return [dx]
    }
    return record(values, [x], backward, [x, values])
  }
  checkAxis('dim', reduction.dim, shape.length)
  const places = x.empty(keptShape(shape, reduction.dim))
  const values = reduceSome(x, reduction, (result, matrix, rows, cols) =>
    runtime.run('gpt_max', [result, places, matrix, rows, cols]),
  )
  const backward = (/** @type {Tensor} */ dy) => {
    const dx = x.zeroed(shape)
    const { size, inner } = axisOf(shape, /** @type {number} */ (reduction.dim))
    const [from, to] = [dy.data, dx.data]
    runtime.memory.words(places.byteOffset, places.size).forEach((index, i) => {
      to[(Math.floor(i / inner) * size + index) * inner + (i % inner)] = from[i]
    })
    return [dx]
  }
  record(values, [x], backward, [places])
  const indices = nest(runtime.memory.words(places.byteOffset, places.size), values.shape)
  if (values.step === null) places.dispose()
  return { values, indices }
}

/** @param {Tensor} x @param {Reduction} options @returns {NestedArray} */
export function argmax(x, options) {
  const reduction = checkOptions(options, DEFAULTS)
  const places = reduceSome(x, reduction, (result, matrix, rows, cols) =>
    x.runtime.run('gpt_max', [null, result, matrix, rows, cols]),
  )
  const indices = nest(x.runtime.memory.words(places.byteOffset, places.size), places.shape)
  places.dispose()
  return indices
}

/**
 * Writes the results of a matrix's rows.
 *
 * @typedef {(result: Tensor, matrix: Tensor, rows: number, cols: number) => void} RowKernel
 */

/**
 * As `reduce`, where no elements have no result.
 *
 * @param {Tensor} x
 * @param {Reduction} reduction
 * @param {RowKernel} kernel
 * @returns {Tensor}
 * @throws {GptLayersError} SHAPE
 */
function reduceSome(x, reduction, kernel) {
  const { dim } = reduction
  const { shape } = x
  const count = dim === undefined ? x.size : shape[checkAxis('dim', dim, shape.length)]
  if (count === 0) {
    const elements = dim === undefined ? 'elements' : 'elements along dim'
    throw fail('SHAPE', 'the tensor', `have ${elements}`, `shape [${shape.join(', ')}]`)
  }
  return reduce(x, reduction, kernel)
}

/**
 * @param {readonly number[]} shape
 * @param {number} dim checked
 * @returns {{ axis: number, size: number, outer: number, inner: number }} the axis from 0, its size, and the
 *   number of elements before and after it. The shape [] has one element, so its axis has size 1
 */
function axisOf(shape, dim) {
  const axis = dim < 0 ? dim + Math.max(shape.length, 1) : dim
  const [outer, inner] = [sizeOf(shape.slice(0, axis)), sizeOf(shape.slice(axis + 1))]
  return { axis, size: shape[axis] ?? 1, outer, inner }
}

/**
 * @param {readonly number[]} shape
 * @param {number | undefined} dim undefined: all axes
 * @returns {number[]} the shape after a reduction with keepdim
 */
const keptShape = (shape, dim) =>
  shape.map((size, i) => (dim === undefined || i === axisOf(shape, dim).axis ? 1 : size))

/**
 * The inverse of a reduction, for gradients.
 *
 * @param {Tensor} dy of the shape of the reduction's result
 * @param {readonly number[]} shape of the reduction's input
 * @param {Reduction} reduction
 * @returns {Tensor} dy, repeated along the axes that were reduced
 */
const spread = (dy, shape, { dim }) => dy.zeroed(shape).add(dy.reshape(keptShape(shape, dim)))

/**
 * Reduces one axis, or all elements, with a kernel that reduces the last axis of a matrix.
 *
 * @param {Tensor} x
 * @param {Reduction} reduction dim undefined: all elements
 * @param {RowKernel} kernel
 * @returns {Tensor}
 */
function reduce(x, { dim, keepdim }, kernel) {
  checkBoolean('keepdim', keepdim)
  const { runtime, shape } = x
  if (dim === undefined) {
    const result = x.empty(keepdim ? shape.map(() => 1) : [])
    kernel(result, x, 1, x.size)
    return result
  }
  checkAxis('dim', dim, shape.length)
  const { axis, size, outer, inner } = axisOf(shape, dim)
  return runtime.temporary(() => {
    const result = x.empty(keepdim ? keptShape(shape, dim) : shape.filter((_, i) => i !== axis))
    let matrix = x
    if (inner !== 1) {
      matrix = x.empty([outer, inner, size])
      runtime.run('gpt_transpose', [matrix, x, outer, size, inner, 1])
    }
    kernel(result, matrix, outer * inner, size)
    return result
  })
}
