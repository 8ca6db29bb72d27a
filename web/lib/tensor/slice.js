/** @import { Tensor } from './tensor.js' */

import { checkNumber, checkOptions, checkSize } from '../check.js'
import { fail } from '../errors.js'
import { record } from '../runtime/tape.js'
import { checkAxis, sizeOf } from './shape.js'

/**
 * @typedef {object} AxisOptions
 * @property {number} [dim] the axis, negative from the end; 0 by default
 */

/**
 * @param {Tensor} x
 * @param {number} size
 * @param {AxisOptions} options
 * @returns {Tensor[]}
 */
export function split(x, size, options) {
  checkSize('size', size)
  const { dim } = checkOptions(options, { dim: 0 })
  const axis = checkAxis('dim', dim, x.shape.length)
  const whole = x.shape[axis] ?? 1
  const count = Math.max(1, Math.ceil(whole / size))
  return x.runtime.temporary(() =>
    Array.from({ length: count }, (_, i) => piece(x, axis, i * size, Math.min(size, whole - i * size))),
  )
}

/**
 * @param {Tensor} x
 * @param {number} start
 * @param {number | undefined} end
 * @param {AxisOptions} options
 * @returns {Tensor}
 */
export function slice(x, start, end, options) {
  const { dim } = checkOptions(options, { dim: 0 })
  checkHasAxes(x)
  const axis = checkAxis('dim', dim, x.shape.length)
  const whole = x.shape[axis]
  const place = (/** @type {string} */ name, /** @type {number} */ index) => {
    checkNumber(name, index, 'an integer', Number.isSafeInteger)
    return index < 0 ? Math.max(index + whole, 0) : Math.min(index, whole)
  }
  const begin = place('start', start)
  const length = Math.max(place('end', end ?? whole) - begin, 0)
  return piece(x, axis, begin, length)
}

/**
 * @param {Tensor} x
 * @param {number} index
 * @returns {Tensor}
 */
export function at(x, index) {
  checkHasAxes(x)
  const [whole, ...rest] = x.shape
  const exists = (/** @type {number} */ n) => Number.isInteger(n) && n >= -whole && n < whole
  checkNumber('index', index, `an integer from ${-whole} to ${whole - 1}`, exists)
  return x.runtime.temporary(() => piece(x, 0, index < 0 ? index + whole : index, 1).reshape(rest))
}

/** @param {Tensor} x */
function checkHasAxes({ shape }) {
  if (shape.length > 0) return
  throw fail('SHAPE', 'the tensor', 'have 1 axis or more', 'shape []')
}

/**
 * @param {Tensor} x
 * @param {number} axis
 * @param {number} begin an index of the axis
 * @param {number} length
 * @returns {Tensor} a copy of so many indices of the axis, from `begin` on
 */
function piece(x, axis, begin, length) {
  const { shape } = x
  const y = x.empty(shape.map((size, i) => (i === axis ? length : size)))
  eachBlock(shape, axis, begin, length, (inWhole, inPiece) => y.data.set(inWhole(x.data), inPiece))
  const backward = (/** @type {Tensor} */ dy) => {
    const dx = x.zeroed(shape)
    eachBlock(shape, axis, begin, length, (inWhole, inPiece) => {
      const block = inWhole(dx.data)
      block.set(dy.data.subarray(inPiece, inPiece + block.length))
    })
    return [dx]
  }
  return record(y, [x], backward, [])
}

/**
 * Visits the blocks of a piece, each contiguous in the piece and in the whole.
 *
 * @param {readonly number[]} shape of the whole
 * @param {number} axis
 * @param {number} begin
 * @param {number} length
 * @param {(inWhole: (data: Float32Array) => Float32Array, inPiece: number) => void} visit gets what takes the
 *   block out of the whole's elements, and where the block begins in the piece
 */
function eachBlock(shape, axis, begin, length, visit) {
  const inner = sizeOf(shape.slice(axis + 1))
  const outer = sizeOf(shape.slice(0, axis))
  const size = length * inner
  for (let i = 0; i < outer && size > 0; i++) {
    const start = (i * (shape[axis] ?? 1) + begin) * inner
    visit((data) => data.subarray(start, start + size), i * size)
  }
}
