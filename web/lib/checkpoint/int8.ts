import type { Info } from './header.ts'
import type { Values } from './slabs.ts'
import { checkSameShape, shortName } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { groupLength } from '../tensor/int8weight.ts'

/**
 * Checks an int8 weight of a checkpoint: values [outputs, inputs] with scales [outputs, groups].
 *
 * @param given the name of the weight there
 * @param shape [outputs, inputs] of the layer
 * @param isDict whether the values may be integers of dtype F32, as in a dict of tensors
 * @returns how many inputs share a scale
 */
export function groupSizeOf(
  given: string,
  weight: Info,
  scale: Info,
  shape: readonly number[],
  isDict: boolean,
): number {
  const name = shortName(given)
  const dtypes = `${weight.dtype} and ${scale.dtype}`
  if (dtypes !== 'I8 and F32' && !(isDict && dtypes === 'F32 and F32')) {
    const expected = `${name} and ${name}_scale should be I8 and F32`
    throw new GptLayersError('VALUE', `${expected}, got ${dtypes}`)
  }
  const [outputs, inputs] = shape
  const [rows, groups] = scale.shape
  const length = scale.shape.length === 2 && rows === outputs ? groupLength(inputs, groups) : 0
  checkSameShape(name, weight.shape, shape)
  if (length > 0) return length
  const expected = `have shape [${outputs}, groups], with groups of equal, even length`
  throw fail('SHAPE', `${name}_scale`, expected, `[${scale.shape.join(', ')}]`)
}

/** @param name the scales' name in the checkpoint */
export function checkScales(name: string, scales: Values): Float32Array {
  const isScale = (scale: number) => scale >= 0 && scale < Infinity
  if (scales instanceof Float32Array && scales.every(isScale)) return scales
  const wrong = scales.find((scale) => !isScale(scale))
  throw fail('VALUE', shortName(name), 'have finite scales from 0 on', wrong)
}

/**
 * Each value times its scale.
 *
 * @param values [rows, inputs]
 * @param scales [rows, groups]
 */
export function dequantizeRows(
  values: Int8Array,
  scales: Float32Array,
  rows: number,
  groupSize: number,
): Float32Array {
  const [inputs, groups] = [values.length / rows, scales.length / rows]
  const result = new Float32Array(values.length)
  for (let r = 0, at = 0; r < rows; r++) {
    for (let i = 0; i < inputs; i++, at++) {
      result[at] = values[at] * scales[r * groups + Math.floor(i / groupSize)]
    }
  }
  return result
}

/**
 * @param name the weight's name in the checkpoint
 * @throws {GptLayersError} VALUE where a value is not an int8
 */
export function integersOf(name: string, values: Values): Int8Array {
  if (values instanceof Int8Array) return values
  const integers = Int8Array.from(values)
  if (values.every((value, i) => value === integers[i])) return integers
  throw fail('VALUE', shortName(name), 'have integers from -128 to 127 beside its scales')
}
