/** @import { Tensor } from './tensor.js' */

import { checkOptions, checkSize } from '../check.js'
import { checkAxis, sizeOf } from './shape.js'

/**
 * Copies of the pieces along an axis.
 *
 * @param {Tensor} x
 * @param {number} size
 * @param {{ dim?: number }} options
 * @returns {Tensor[]}
 */
export function split(x, size, options) {
  checkSize('split', 'size', size)
  const { dim } = checkOptions('split', options, { dim: 0 })
  const { runtime, shape } = x
  const axis = checkAxis('split', dim, shape.length)
  const whole = shape[axis] ?? 1
  const inner = sizeOf(shape.slice(axis + 1))
  const count = Math.max(1, Math.ceil(whole / size))
  const piece = (/** @type {number} */ index) => {
    const begin = index * size
    const length = Math.min(size, whole - begin)
    const pieceShape = shape.map((n, i) => (i === axis ? length : n))
    const y = x.empty('split', pieceShape)
    const [from, to] = [x.data, y.data]
    const block = length * inner // contiguous in both
    for (let outer = 0; outer * block < to.length; outer++) {
      const start = (outer * whole + begin) * inner
      to.set(from.subarray(start, start + block), outer * block)
    }
    return y
  }
  return runtime.scope(() => Array.from({ length: count }, (_, index) => piece(index)))
}
