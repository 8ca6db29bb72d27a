/** @import { Assignment, Found, Int8Data } from './statedict.js' */

import { checkSameShape } from '../check.js'
import { GptLayersError } from '../errors.js'
import { groupLength } from '../tensor/int8weight.js'

/**
 * The dtype and the shape of a tensor in a checkpoint.
 *
 * @typedef {{ dtype: string, shape: readonly number[] }} Entry
 */

/**
 * Checks an int8 weight of a checkpoint: values [outputs, inputs] with scales [outputs, groups], or values
 * [inputs, outputs] with scales [groups, outputs].
 *
 * @param {string} where
 * @param {string} name of the weight there
 * @param {Entry} weight
 * @param {Entry} scale
 * @param {boolean} rowsAreOutputs
 * @returns {number} how many inputs share a scale
 * @throws {GptLayersError} VALUE, SHAPE
 */
export function groupSizeOf(where, name, weight, scale, rowsAreOutputs) {
  const dtypes = `${weight.dtype} and ${scale.dtype}`
  if (dtypes !== 'I8 and F32') {
    const expected = `${name} and ${name}_scale should be I8 and F32`
    throw new GptLayersError('VALUE', `${where}: ${expected}, got ${dtypes}`)
  }
  const [outputs, inputs] = ordered(weight.shape, rowsAreOutputs)
  const [scaled, groups] = ordered(scale.shape, rowsAreOutputs)
  const length = scale.shape.length === 2 && scaled === outputs ? groupLength(inputs, groups) : 0
  if (length > 0) return length
  const expected = rowsAreOutputs ? `[${outputs}, groups]` : `[groups, ${outputs}]`
  throw new GptLayersError(
    'SHAPE',
    `${where}: ${name}_scale should have shape ${expected}, with groups of equal, even length, got ` +
      `[${scale.shape.join(', ')}]`,
  )
}

/** @param {readonly number[]} shape @param {boolean} rowsAreOutputs @returns {readonly number[]} */
const ordered = (shape, rowsAreOutputs) => (rowsAreOutputs ? shape : [...shape].reverse())

/**
 * @param {string} where
 * @param {string} name of the factors of the inputs there
 * @param {Entry} columns
 * @param {Entry} weight
 * @param {boolean} rowsAreOutputs
 * @throws {GptLayersError} VALUE, SHAPE
 */
export function checkColumns(where, name, columns, weight, rowsAreOutputs) {
  if (columns.dtype !== 'F32') {
    throw new GptLayersError('VALUE', `${where}: ${name} should be F32, got ${columns.dtype}`)
  }
  const [, inputs] = ordered(weight.shape, rowsAreOutputs)
  checkSameShape(where, name, columns.shape, [inputs])
}

/**
 * Checks and reads the parts of an int8 weight.
 *
 * @param {string} where
 * @param {Assignment} assignment that has scales
 * @param {(name: string) => Entry & { floats: () => Float32Array }} entryOf
 * @param {() => Int8Array} integers reads the values
 * @returns {Found}
 * @throws {GptLayersError} VALUE, SHAPE
 */
export function readInt8(where, { given, scale, columns, rowsAreOutputs }, entryOf, integers) {
  const weight = entryOf(given)
  const scales = entryOf(/** @type {string} */ (scale))
  const groupSize = groupSizeOf(where, given, weight, scales, rowsAreOutputs)
  const factors = columns === null ? null : entryOf(columns)
  if (factors) checkColumns(where, `${columns}`, factors, weight, rowsAreOutputs)
  const int8 = {
    values: integers(),
    scales: scales.floats(),
    columns: factors && factors.floats(),
    groupSize,
  }
  return foundInt8(weight.shape, rowsAreOutputs, int8)
}

/**
 * @param {readonly number[]} shape of the values
 * @param {boolean} rowsAreOutputs
 * @param {Int8Data} int8
 * @returns {Found}
 */
export const foundInt8 = (shape, rowsAreOutputs, int8) => ({
  floats: () => dequantize(shape, rowsAreOutputs, int8),
  int8,
})

/**
 * @param {readonly number[]} shape of the values
 * @param {boolean} rowsAreOutputs
 * @param {Int8Data} int8
 * @returns {Float32Array} each value times its scale, and times its input's factor, rounded to float32
 */
function dequantize([rows, cols], rowsAreOutputs, { values, scales, columns, groupSize }) {
  const result = new Float32Array(values.length)
  const groups = rowsAreOutputs ? Math.ceil(cols / groupSize) : 0
  for (let r = 0, at = 0; r < rows; r++) {
    const row = rowsAreOutputs ? r * groups : Math.floor(r / groupSize) * cols
    for (let c = 0; c < cols; c++, at++) {
      result[at] = values[at] * scales[row + (rowsAreOutputs ? Math.floor(c / groupSize) : c)]
      if (columns) result[at] *= columns[rowsAreOutputs ? c : r]
    }
  }
  return result
}

/**
 * @param {string} where
 * @param {string} name of the weight in the checkpoint
 * @param {Float32Array} values
 * @returns {Int8Array}
 * @throws {GptLayersError} VALUE where a value is not an int8
 */
export function integersOf(where, name, values) {
  const integers = Int8Array.from(values)
  if (values.every((value, i) => value === integers[i])) return integers
  throw new GptLayersError(
    'VALUE',
    `${where}: ${name} should have integers from -128 to 127 beside its scales`,
  )
}
