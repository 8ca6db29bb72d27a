import type { Tensor } from '../tensor/tensor.js'

/** @returns the sum of its elements, in float64 */
export const sumOf = ({ data }: Tensor): number => data.reduce((sum, value) => sum + value, 0)

/** @returns of the same instance, shape [] */
export function single(tensor: Tensor, value: number): Tensor {
  const loss = tensor.empty([])
  loss.data[0] = value
  return loss
}
