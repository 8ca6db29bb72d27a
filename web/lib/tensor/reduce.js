/** @import { Tensor } from './tensor.js' */

import { checkBoolean, checkOptions } from '../check.js'
import { checkAxis, sizeOf } from './shape.js'

/** @param {Tensor} x @param {{ dim?: number, keepdim?: boolean }} options @returns {Tensor} */
export function mean(x, options) {
  const { dim, keepdim } = checkOptions('mean', options, { dim: undefined, keepdim: false })
  return reduce(x, 'mean', dim, keepdim, (result, rowsOfX, rows, cols) =>
    x.runtime.run('gpt_mean', [result, rowsOfX, rows, cols]),
  )
}

/**
 * @param {Tensor} x
 * @param {{ dim?: number, keepdim?: boolean, unbiased?: boolean }} options
 * @returns {Tensor}
 */
export function variance(x, options) {
  const defaults = { dim: undefined, keepdim: false, unbiased: true }
  const { dim, keepdim, unbiased } = checkOptions('var', options, defaults)
  checkBoolean('var', 'unbiased', unbiased)
  return reduce(x, 'var', dim, keepdim, (result, rowsOfX, rows, cols) =>
    x.runtime.run('gpt_var', [result, rowsOfX, rows, cols, unbiased]),
  )
}

/**
 * Reduces one axis, or all elements, with a kernel that reduces the last axis of a matrix.
 *
 * @param {Tensor} x
 * @param {string} where
 * @param {unknown} dim undefined: all elements
 * @param {boolean} keepdim
 * @param {(result: Tensor, x: Tensor, rows: number, cols: number) => void} kernel
 * @returns {Tensor}
 */
function reduce(x, where, dim, keepdim, kernel) {
  checkBoolean(where, 'keepdim', keepdim)
  const { runtime, shape } = x
  if (dim === undefined) {
    const result = x.empty(where, keepdim ? shape.map(() => 1) : [])
    kernel(result, x, 1, x.size)
    return result
  }
  const axis = checkAxis(where, dim, shape.length)
  const cols = shape[axis] ?? 1 // shape [] has one element, so its axis has size 1
  const inner = sizeOf(shape.slice(axis + 1))
  const outer = sizeOf(shape.slice(0, axis))
  const kept = shape.map((size, i) => (i === axis ? 1 : size))
  return runtime.scope(() => {
    const result = x.empty(where, keepdim ? kept : kept.filter((_, i) => i !== axis))
    let rows = x
    if (inner !== 1) {
      rows = x.empty(where, [outer, inner, cols])
      runtime.run('gpt_transpose', [rows, x, outer, cols, inner, 1])
    }
    kernel(result, rows, outer * inner, cols)
    return result
  })
}
