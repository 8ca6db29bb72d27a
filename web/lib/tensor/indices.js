/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { NestedArray, NumberArray } from './nested.js' */

import { describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkTensor } from './check.js'
import { flatten, isTyped } from './nested.js'
import { Tensor } from './tensor.js'

/**
 * Integers, such as tokens: a number, nested arrays, a typed array, or a Tensor whose elements are integers.
 *
 * @typedef {number | NestedArray | NumberArray | Tensor} Indices
 */

/**
 * @param {Runtime} runtime
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @param {number} count each should be from 0 to count - 1
 * @param {number} [exception] one more that may be
 * @returns {{ indices: Int32Array, shape: readonly number[] }} a copy
 * @throws {GptLayersError} TYPE, SHAPE, VALUE, DISPOSED
 */
export function checkIndices(runtime, where, name, value, count, exception) {
  const { data, shape } = dataOf(runtime, where, name, value)
  const indices = new Int32Array(data.length)
  for (let i = 0; i < data.length; i++) {
    const index = data[i]
    if (!(Number.isInteger(index) && index >= 0 && index < count) && index !== exception) {
      const expected = `an integer from 0 to ${count - 1}${exception === undefined ? '' : `, or ${exception}`}`
      throw new GptLayersError(
        'VALUE',
        `${where}: ${name}${place(i, shape)} should be ${expected}, got ${describe(index)}`,
      )
    }
    indices[i] = index
  }
  return { indices, shape }
}

/**
 * Integers in the heap, for a kernel: a tensor of as many words, which nobody must read as floats.
 *
 * @param {Runtime} runtime
 * @param {string} where
 * @param {{ indices: Int32Array, shape: readonly number[] }} checked
 * @returns {Tensor}
 */
export function storeIndices(runtime, where, { indices, shape }) {
  const tensor = Tensor.empty(runtime, where, shape)
  runtime.memory.words(tensor.byteOffset, tensor.size).set(indices)
  return tensor
}

/**
 * @param {Runtime} runtime
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {{ data: ArrayLike<number>, shape: readonly number[] }}
 */
function dataOf(runtime, where, name, value) {
  if (value instanceof Tensor) return checkTensor(runtime, where, name, value)
  if (typeof value === 'number' || Array.isArray(value) || isTyped(value)) return flatten(where, name, value)
  throw new GptLayersError(
    'TYPE',
    `${where}: ${name} should be integers as a number, nested arrays, a typed array or a Tensor, got ${describe(value)}`,
  )
}

/**
 * Where an element of a row-major array stands: [1][2].
 *
 * @param {number} i
 * @param {readonly number[]} shape
 */
function place(i, shape) {
  let rest = i
  const coordinates = [...shape].reverse().map((size) => {
    const coordinate = rest % size
    rest = (rest - coordinate) / size
    return `[${coordinate}]`
  })
  return coordinates.reverse().join('')
}
