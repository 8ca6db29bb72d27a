// Which tensors of a layer may be int8, and how they become so.

import { withName } from '../errors.ts'
import { areFinite, notFinite } from '../files/copy.ts'
import { checkTensor } from '../tensor/check.ts'
import { type Matrices, type Matrix, evenGroups, Int8Weight } from '../tensor/int8weight.ts'
import { Tensor } from '../tensor/tensor.ts'

/** A Module. */
interface Layer {
  readonly int8Matrix: Matrix | null
  ownParts(): [string, unknown][]
}

/**
 * The matrices of layers that are int8 or may become so: each layer that has one can read it so, and they agree
 * on its order.
 *
 * @param layers by their paths
 */
export function int8Matrices(layers: readonly [string, Layer][]): Matrices {
  const matrices: Map<Tensor, { name: string; transposed: boolean; isProduct: boolean }> = new Map()
  const others: Set<unknown> = new Set()
  for (const [path, layer] of layers) {
    const matrix = layer.int8Matrix
    for (const [, part] of layer.ownParts()) if (part !== matrix?.weight) others.add(part)
    if (matrix === null) continue
    const { weight, transposed } = matrix
    const known = matrices.get(weight)
    if (known !== undefined && known.transposed !== transposed) others.add(weight)
    const name = known?.name ?? `${path}${path && '.'}weight`
    matrices.set(weight, { name, transposed, isProduct: matrix.isProduct || (known?.isProduct ?? false) })
  }
  for (const [weight] of matrices) {
    if (others.has(weight) && weight.int8Weight === null) matrices.delete(weight)
  }
  return matrices
}

/**
 * Makes the factors of products int8, one after the other.
 *
 * @param groupSize the most inputs that share a scale
 * @param caller the name of the public function, for errors
 * @throws {GptLayersError} VALUE where one is not finite, before any is changed; MEMORY
 */
export function quantize(matrices: Matrices, groupSize: number, caller: string): void {
  const floats = [...matrices].filter(([weight, { isProduct }]) => isProduct && weight.int8Weight === null)
  for (const [weight, { name }] of floats) {
    checkTensor(name, weight)
    if (!areFinite(weight.data)) throw notFinite(name)
  }
  for (const [weight, { name, transposed }] of floats) {
    const [rows, cols] = weight.shape
    const [outputs, inputs] = transposed ? [cols, rows] : [rows, cols]
    try {
      const int8Weight = Int8Weight.empty([outputs, inputs], evenGroups(inputs, groupSize))
      int8Weight.quantizeRows(weight, 0, rows, transposed)
      weight.becomeInt8(int8Weight)
    } catch (error) {
      throw withName(error, `${caller}: ${name}`)
    }
  }
}
