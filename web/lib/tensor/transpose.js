/** @import { Tensor } from './tensor.js' */

import { copyArray, describe, MAX_AXES } from '../check.js'
import { GptLayersError } from '../errors.js'
import { sizeOf } from './shape.js'

/**
 * A copy with the axes in another order.
 *
 * @param {Tensor} x
 * @param {readonly number[]} dims
 * @returns {Tensor}
 */
export function permute(x, dims) {
  const rank = x.shape.length
  const given = copyArray('permute', 'dims', dims, 'an array of axes', MAX_AXES)
  const order = given.map((dim) => (typeof dim !== 'number' ? NaN : dim < 0 ? dim + rank : dim))
  if (order.length !== rank || !x.shape.every((_, axis) => order.includes(axis))) {
    throw new GptLayersError(
      'VALUE',
      `permute: dims should name each of ${rank} axes once, got ${describe(given)}`,
    )
  }
  const { runtime } = x
  return runtime.scope(() => {
    let moved = x
    let axes = x.shape.map((_, axis) => axis) // of x, in the order in which `moved` has them
    order.forEach((axis, to) => {
      // Move the axis to its place: swap it with the axes from `to` up to it.
      const from = axes.indexOf(axis)
      if (from === to) return
      const size = (/** @type {number} */ begin, /** @type {number} */ end) =>
        sizeOf(axes.slice(begin, end).map((i) => x.shape[i]))
      const y = x.empty('permute', moved.shape)
      const sizes = [size(0, to), size(to, from), size(from, from + 1), size(from + 1, rank)]
      runtime.run('gpt_transpose', [y, moved, ...sizes])
      moved = y
      axes = [...axes.slice(0, to), axis, ...axes.slice(to, from), ...axes.slice(from + 1)]
    })
    return moved === x ? x.clone() : moved.reshape(axes.map((axis) => x.shape[axis]))
  })
}
