import { checkNumber } from '../check.js'
import { GptLayersError } from '../errors.js'

/** @param {readonly number[]} shape @returns {number} how many elements it has */
export const sizeOf = (shape) => shape.reduce((product, size) => product * size, 1)

/** The elements that 4 GiB of memory hold. */
const MAX_ELEMENTS = 2 ** 30

/**
 * Kernels take products of some sizes of a shape as 32-bit numbers. A shape with a size of 0 needs no memory
 * whatever its other sizes are, so their product has a limit of its own.
 *
 * @param {string} where
 * @param {readonly number[]} shape
 * @throws {GptLayersError} VALUE
 */
export function checkElements(where, shape) {
  if (!shape.includes(0) || sizeOf(shape.filter((size) => size > 0)) <= MAX_ELEMENTS) return
  const expected = 'sizes whose product, without those of 0, is at most 2^30'
  throw new GptLayersError('VALUE', `${where}: shape should have ${expected}, got [${shape.join(', ')}]`)
}

/** @param {readonly number[]} a @param {readonly number[]} b @returns {boolean} */
export const sameShape = (a, b) => a === b || (a.length === b.length && a.every((size, i) => size === b[i]))

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} dim an axis, negative from the end
 * @param {number} rank
 * @returns {number} the axis, from 0
 * @throws {GptLayersError} TYPE, VALUE
 */
export function checkAxis(where, name, dim, rank) {
  const axes = Math.max(rank, 1)
  const exists = (/** @type {number} */ axis) => Number.isInteger(axis) && axis >= -axes && axis < axes
  checkNumber(where, name, dim, `an axis from ${-axes} to ${axes - 1}`, exists)
  return dim < 0 ? dim + axes : dim
}

/**
 * The shape two tensors broadcast to: aligned at the last axis, each pair of sizes is equal or one of them is
 * 1.
 *
 * @param {string} where
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 * @returns {number[]}
 * @throws {GptLayersError} SHAPE
 */
export function broadcast(where, a, b) {
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
 * An axis of a broadcast result: its size, and how far a step along it moves in each operand; 0 repeats an
 * element.
 *
 * @typedef {{ size: number, a: number, b: number }} Axis
 */

/**
 * The axes of a broadcast result, as few as possible: without axes of size 1, and with two neighbors merged
 * where both operands are contiguous across them.
 *
 * @param {readonly number[]} shape the result's
 * @param {readonly number[]} shapeA
 * @param {readonly number[]} shapeB
 * @returns {Axis[]}
 */
export function mergedAxes(shape, shapeA, shapeB) {
  /** @type {Axis[]} */
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
