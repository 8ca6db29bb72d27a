// Checks of tensor arguments. Each takes `where`, the public function's name, for the error message.

/** @import { Runtime } from '../runtime/runtime.js' */

import { checkSameShape } from '../check.js'
import { fail } from '../errors.js'
import { notTensor, Tensor } from './tensor.js'

/**
 * @param {Runtime} runtime
 * @param {string} name
 * @param {unknown} value
 * @returns {Tensor} a live tensor of this runtime
 * @throws {GptLayersError} TYPE, VALUE, DISPOSED
 */
export function checkTensor(runtime, name, value) {
  const tensor = asTensor(name, value)
  tensor.checkUsable(runtime, name)
  return tensor
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {Tensor} a live tensor of any runtime
 * @throws {GptLayersError} TYPE, DISPOSED
 */
export function checkLiveTensor(name, value) {
  const tensor = asTensor(name, value)
  tensor.checkUsable(tensor.runtime, name)
  return tensor
}

/** @param {string} name @param {unknown} value @returns {Tensor} */
function asTensor(name, value) {
  if (Tensor.isTensor(value)) return value
  throw notTensor(name, 'a Tensor', value)
}

/**
 * @param {Runtime} runtime
 * @param {string} name
 * @param {unknown} value
 * @param {readonly number[]} shape
 * @returns {Tensor} a live tensor of this runtime, of this shape
 * @throws {GptLayersError} SHAPE, TYPE, VALUE, DISPOSED
 */
export function checkTensorOf(runtime, name, value, shape) {
  const tensor = checkTensor(runtime, name, value)
  checkSameShape(name, tensor.shape, shape)
  return tensor
}

/**
 * Checks the input of a layer whose last axis has a fixed size.
 *
 * @param {Runtime} runtime
 * @param {unknown} x
 * @param {number} features the size of the last axis
 * @param {string} featuresName the layer's name for it
 * @returns {number} rows: the number of vectors of `features` elements
 * @throws {GptLayersError} SHAPE, TYPE, VALUE, DISPOSED
 */
export function checkRows(runtime, x, features, featuresName) {
  const { shape, size } = checkTensor(runtime, 'x', x)
  if (shape.at(-1) === features) return size / features
  throw fail('SHAPE', 'x', `end in ${features} (${featuresName})`, `shape [${shape.join(', ')}]`)
}
