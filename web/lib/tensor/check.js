// Checks of tensor arguments. Each takes `where`, the public function's name, for the error message.

/** @import { Runtime } from '../runtime/runtime.js' */

import { checkSameShape } from '../check.js'
import { GptLayersError } from '../errors.js'
import { notTensor, Tensor } from './tensor.js'

/**
 * @param {Runtime} runtime
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {Tensor} a live tensor of this runtime
 * @throws {GptLayersError} TYPE, VALUE, DISPOSED
 */
export function checkTensor(runtime, where, name, value) {
  const tensor = asTensor(where, name, value)
  tensor.checkUsable(runtime, where, name)
  return tensor
}

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @returns {Tensor} a live tensor of any runtime
 * @throws {GptLayersError} TYPE, DISPOSED
 */
export function checkLiveTensor(where, name, value) {
  const tensor = asTensor(where, name, value)
  tensor.checkUsable(tensor.runtime, where, name)
  return tensor
}

/** @param {string} where @param {string} name @param {unknown} value @returns {Tensor} */
function asTensor(where, name, value) {
  if (Tensor.isTensor(value)) return value
  throw notTensor(where, name, 'a Tensor', value)
}

/**
 * @param {Runtime} runtime
 * @param {string} where
 * @param {string} name
 * @param {unknown} value
 * @param {readonly number[]} shape
 * @returns {Tensor} a live tensor of this runtime, of this shape
 * @throws {GptLayersError} SHAPE, TYPE, VALUE, DISPOSED
 */
export function checkTensorOf(runtime, where, name, value, shape) {
  const tensor = checkTensor(runtime, where, name, value)
  checkSameShape(where, name, tensor.shape, shape)
  return tensor
}

/**
 * Checks the input of a layer whose last axis has a fixed size.
 *
 * @param {Runtime} runtime
 * @param {string} where
 * @param {unknown} x
 * @param {number} features the size of the last axis
 * @param {string} featuresName the layer's name for it
 * @returns {number} rows: the number of vectors of `features` elements
 * @throws {GptLayersError} SHAPE, TYPE, VALUE, DISPOSED
 */
export function checkRows(runtime, where, x, features, featuresName) {
  const { shape, size } = checkTensor(runtime, where, 'x', x)
  if (shape.at(-1) === features) return size / features
  throw new GptLayersError(
    'SHAPE',
    `${where}: x should end in ${features} (${featuresName}), got shape [${shape.join(', ')}]`,
  )
}
