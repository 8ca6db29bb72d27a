/** @import { Found, Int8Data } from './statedict.js' */

import { checkSameShape, sameShape, shortName } from '../check.js'
import { fail, GptLayersError } from '../errors.js'
import { groupLength } from '../tensor/int8weight.js'

/**
 * The dtype and the shape of a tensor in a checkpoint.
 *
 * @typedef {{ dtype: string, shape: readonly number[] }} Entry
 */

/**
 * Checks an int8 weight of a checkpoint: values [outputs, inputs] with scales [outputs, groups].
 *
 * @param {string} given the name of the weight there
 * @param {Entry} weight
 * @param {Entry} scale
 * @param {readonly number[]} shape [outputs, inputs] of the layer
 * @returns {number} how many inputs share a scale
 * @throws {GptLayersError} VALUE, SHAPE
 */
export function groupSizeOf(given, weight, scale, shape) {
  const name = shortName(given)
  const dtypes = `${weight.dtype} and ${scale.dtype}`
  if (dtypes !== 'I8 and F32') {
    const expected = `${name} and ${name}_scale should be I8 and F32`
    throw new GptLayersError('VALUE', `${expected}, got ${dtypes}`)
  }
  const [outputs, inputs] = shape
  const [rows, groups] = scale.shape
  const length = scale.shape.length === 2 && rows === outputs ? groupLength(inputs, groups) : 0
  // In an older format, a Conv1D's were [inputs, outputs] and [groups, outputs].
  if (length === 0 && groups === outputs && sameShape(weight.shape, [inputs, outputs])) {
    const expected = `[${outputs}, ${inputs}] and [${outputs}, groups]`
    const got = `[${weight.shape.join(', ')}] and [${scale.shape.join(', ')}]`
    throw fail('SHAPE', `${name} and ${name}_scale`, `have shapes ${expected}`, `${got}: an older format`)
  }
  checkSameShape(name, weight.shape, shape)
  if (length > 0) return length
  throw fail(
    'SHAPE',
    `${name}_scale`,
    `have shape [${outputs}, groups], with groups of equal, even length`,
    `[${scale.shape.join(', ')}]`,
  )
}

/**
 * @param {string} name of the scales in the checkpoint
 * @param {Float32Array} scales
 * @returns {Float32Array} the scales
 * @throws {GptLayersError} VALUE
 */
export function checkScales(name, scales) {
  const wrong = scales.find((scale) => !(scale >= 0 && scale < Infinity))
  if (wrong === undefined) return scales
  throw fail('VALUE', shortName(name), 'have finite scales from 0 on', wrong)
}

/**
 * Checks and reads the parts of an int8 weight.
 *
 * @param {{ given: string, scale: string }} names in the checkpoint
 * @param {readonly number[]} shape [outputs, inputs] of the layer
 * @param {(name: string) => Entry & { floats: () => Float32Array }} entryOf
 * @param {() => Int8Array} integers reads the values
 * @returns {Found}
 * @throws {GptLayersError} VALUE, SHAPE
 */
export function readInt8({ given, scale }, shape, entryOf, integers) {
  const scales = entryOf(scale)
  const groupSize = groupSizeOf(given, entryOf(given), scales, shape)
  return foundInt8({
    values: integers(),
    scales: checkScales(scale, scales.floats()),
    shape,
    groupSize,
  })
}

/** @param {Int8Data} int8 @returns {Found} */
export const foundInt8 = (int8) => ({ floats: () => dequantize(int8), int8 })

/** @param {Int8Data} int8 @returns {Float32Array} each value times its scale, rounded to float32 */
function dequantize({ values, scales, shape: [outputs, inputs], groupSize }) {
  const groups = Math.ceil(inputs / groupSize)
  const result = new Float32Array(values.length)
  for (let o = 0, at = 0; o < outputs; o++) {
    for (let i = 0; i < inputs; i++, at++) {
      result[at] = values[at] * scales[o * groups + Math.floor(i / groupSize)]
    }
  }
  return result
}

/**
 * @param {string} name of the weight in the checkpoint
 * @param {Float32Array} values
 * @returns {Int8Array}
 * @throws {GptLayersError} VALUE where a value is not an int8
 */
export function integersOf(name, values) {
  const integers = Int8Array.from(values)
  if (values.every((value, i) => value === integers[i])) return integers
  throw fail('VALUE', shortName(name), 'have integers from -128 to 127 beside its scales')
}
