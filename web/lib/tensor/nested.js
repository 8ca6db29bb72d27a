import { describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { sameShape } from './shape.js'

// Two types, because TypeScript resolves a recursive alias in JSDoc only by way of a generic one.
/** A number, or arrays of numbers nested to any depth. @typedef {number | NestedList} NestedArray */
/** @typedef {Array<NestedArray>} NestedList */

/**
 * A typed array of numbers, not of bigints.
 *
 * @typedef {Float32Array | Float64Array | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array
 *   | Uint16Array | Int32Array | Uint32Array} NumberArray
 */

/** @param {unknown} value @returns {value is NumberArray} */
export function isTyped(value) {
  return (
    ArrayBuffer.isView(value) &&
    !(value instanceof DataView) &&
    !(value instanceof BigInt64Array || value instanceof BigUint64Array)
  )
}

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} values a number, nested arrays of numbers, or a typed array
 * @returns {{ data: ArrayLike<number>, shape: number[] }} the numbers in row-major order, and the shape of
 *   the nesting
 * @throws {GptLayersError} TYPE; SHAPE where arrays of one level differ in shape
 */
export function flatten(where, name, values) {
  if (isTyped(values)) return { data: values, shape: [values.length] }
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
          `${where}: ${path}[${i}] should have shape [${first.join(', ')}] like ${path}[0], ` +
            `got [${shape.join(', ')}]`,
        )
      }
    }
    return [value.length, ...(first ?? [])]
  }
  return { shape: visit(values, name), data }
}
