/** @import { NestedArray } from './nested.js' */
/** @import { Tensor } from './tensor.js' */

import { checkBoolean, checkOptions } from '../check.js'
import { GptLayersError } from '../errors.js'
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

/** @param {Tensor} x @param {Reduction} options @returns {Tensor} */
export function sum(x, options) {
  return reduce(x, 'sum', checkOptions('sum', options, DEFAULTS), (result, matrix, rows, cols) =>
    x.runtime.run('gpt_sum', [result, matrix, rows, cols]),
  )
}

/** @param {Tensor} x @param {Reduction} options @returns {Tensor} */
export function mean(x, options) {
  return reduce(x, 'mean', checkOptions('mean', options, DEFAULTS), (result, matrix, rows, cols) =>
    x.runtime.run('gpt_mean', [result, matrix, rows, cols]),
  )
}

/**
 * @param {Tensor} x
 * @param {VarianceOptions} options
 * @returns {Tensor}
 */
export function variance(x, options) {
  const { unbiased, ...reduction } = checkOptions('var', options, { ...DEFAULTS, unbiased: true })
  checkBoolean('var', 'unbiased', unbiased)
  return reduce(x, 'var', reduction, (result, matrix, rows, cols) =>
    x.runtime.run('gpt_var', [result, matrix, rows, cols, unbiased]),
  )
}

/**
 * @param {Tensor} x
 * @param {Reduction} options
 * @returns {Tensor | { values: Tensor, indices: NestedArray }}
 */
export function max(x, options) {
  const reduction = checkOptions('max', options, DEFAULTS)
  /** @type {NestedArray | undefined} */
  let indices
  const values = reduceSome(x, 'max', reduction, (result, matrix, rows, cols) => {
    const places = reduction.dim === undefined ? null : x.empty('max', result.shape)
    x.runtime.run('gpt_max', [result, places, matrix, rows, cols])
    if (places !== null) indices = integersOf(places)
  })
  return indices === undefined ? values : { values, indices }
}

/** @param {Tensor} x @param {Reduction} options @returns {NestedArray} */
export function argmax(x, options) {
  const reduction = checkOptions('argmax', options, DEFAULTS)
  const places = reduceSome(x, 'argmax', reduction, (result, matrix, rows, cols) =>
    x.runtime.run('gpt_max', [null, result, matrix, rows, cols]),
  )
  const indices = integersOf(places)
  places.dispose()
  return indices
}

/** @param {Tensor} tensor whose memory holds int32 values @returns {NestedArray} */
function integersOf({ runtime, byteOffset, size, shape }) {
  return nest(runtime.memory.words(byteOffset, size), shape)
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
 * @param {string} where
 * @param {Reduction} reduction
 * @param {RowKernel} kernel
 * @returns {Tensor}
 * @throws {GptLayersError} SHAPE
 */
function reduceSome(x, where, reduction, kernel) {
  const { dim } = reduction
  const { shape } = x
  const count = dim === undefined ? x.size : shape[checkAxis(where, 'dim', dim, shape.length)]
  if (count === 0) {
    const elements = dim === undefined ? 'elements' : 'elements along dim'
    throw new GptLayersError(
      'SHAPE',
      `${where}: the tensor should have ${elements}, got shape [${shape.join(', ')}]`,
    )
  }
  return reduce(x, where, reduction, kernel)
}

/**
 * Reduces one axis, or all elements, with a kernel that reduces the last axis of a matrix.
 *
 * @param {Tensor} x
 * @param {string} where
 * @param {Reduction} reduction dim undefined: all elements
 * @param {RowKernel} kernel
 * @returns {Tensor}
 */
function reduce(x, where, { dim, keepdim }, kernel) {
  checkBoolean(where, 'keepdim', keepdim)
  const { runtime, shape } = x
  const axis = dim === undefined ? 0 : checkAxis(where, 'dim', dim, shape.length)
  return runtime.scope(() => {
    if (dim === undefined) {
      const result = x.empty(where, keepdim ? shape.map(() => 1) : [])
      kernel(result, x, 1, x.size)
      return result
    }
    const cols = shape[axis] ?? 1 // shape [] has one element, so its axis has size 1
    const inner = sizeOf(shape.slice(axis + 1))
    const outer = sizeOf(shape.slice(0, axis))
    const kept = shape.map((size, i) => (i === axis ? 1 : size))
    const result = x.empty(where, keepdim ? kept : kept.filter((_, i) => i !== axis))
    let matrix = x
    if (inner !== 1) {
      matrix = x.empty(where, [outer, inner, cols])
      runtime.run('gpt_transpose', [matrix, x, outer, cols, inner, 1])
    }
    kernel(result, matrix, outer * inner, cols)
    return result
  })
}
