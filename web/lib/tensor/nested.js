import { describe, MAX_AXES, sameShape } from '../check.js'
import { fail } from '../errors.js'
import { isTyped } from '../typed.js'

// Two types, because TypeScript resolves a recursive alias in JSDoc only by way of a generic one.
/** A number, or arrays of numbers nested to any depth. @typedef {number | NestedList} NestedArray */
/** @typedef {Array<NestedArray>} NestedList */

/** The shape of a number. @type {readonly number[]} */
const SINGLE = []

/**
 * @param {ArrayLike<number>} data row-major
 * @param {readonly number[]} shape
 * @returns {NestedArray} the numbers, nested as the shape says; one number for shape `[]`
 */
export function nest(data, shape) {
  let next = 0
  /** @type {(axis: number) => NestedArray} */
  const from = (axis) =>
    axis === shape.length ? data[next++] : Array.from({ length: shape[axis] }, () => from(axis + 1))
  return from(0)
}

/**
 * @param {string} name
 * @param {unknown} values a number, nested arrays of numbers, or a typed array
 * @returns {{ data: ArrayLike<number>, shape: readonly number[] }} the numbers in row-major order: a copy, or
 *   the typed array itself; and the shape of the nesting
 * @throws {GptLayersError} TYPE; SHAPE where arrays of one level differ in shape; VALUE for more than 64
 *   levels, such as those of an array that contains itself
 */
export function flatten(name, values) {
  if (isTyped(values)) return { data: values, shape: [values.length] }
  /** @type {number[]} */
  const data = []
  /** @type {number[]} of the element at hand, one for each level */
  const indices = []
  const place = () => name + indices.map((index) => `[${index}]`).join('')
  /** @type {(value: unknown) => readonly number[]} */
  const visit = (value) => {
    if (typeof value === 'number') {
      data.push(value)
      return SINGLE
    }
    if (!isTyped(value) && !Array.isArray(value)) {
      throw fail('TYPE', place(), 'be a number or an array', describe(value))
    }
    if (indices.length === MAX_AXES) {
      throw fail('VALUE', name, `have at most ${MAX_AXES} levels`, 'more')
    }
    /** @type {readonly number[] | undefined} */
    let first
    const { length } = value
    for (let i = 0; i < length; i++) {
      indices.push(i)
      const shape = visit(value[i])
      first ??= shape
      if (!sameShape(shape, first)) {
        indices.pop()
        throw fail(
          'SHAPE',
          `${place()}[${i}]`,
          `have shape [${first.join(', ')}] like ${place()}[0]`,
          `[${shape.join(', ')}]`,
        )
      }
      indices.pop()
    }
    return [length, ...(first ?? SINGLE)]
  }
  return { shape: visit(values), data }
}
