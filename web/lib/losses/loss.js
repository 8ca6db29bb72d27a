/** @import { Tensor } from '../tensor/tensor.js' */

/** @param {Tensor} tensor @returns {number} the sum of its elements, in float64 */
export const sumOf = ({ data }) => data.reduce((sum, value) => sum + value, 0)

/** @param {Tensor} tensor @param {number} value @returns {Tensor} of the same instance, shape [] */
export function single(tensor, value) {
  const loss = tensor.empty([])
  loss.data[0] = value
  return loss
}
