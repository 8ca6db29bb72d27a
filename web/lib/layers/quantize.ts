// Which tensors of a layer may be int8.

import type { Matrices, Matrix } from '../files/matrix.ts'
import type { Tensor } from '../tensor/tensor.ts'

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
  const matrices: Map<Tensor, Matrix & { name: string }> = new Map()
  const others: Set<unknown> = new Set()
  for (const [path, layer] of layers) {
    const matrix = layer.int8Matrix
    for (const [, part] of layer.ownParts()) if (part !== matrix?.weight) others.add(part)
    if (matrix === null) continue
    const { weight, transposed } = matrix
    const known = matrices.get(weight)
    if (known !== undefined && known.transposed !== transposed) others.add(weight)
    const name = known?.name ?? `${path}${path && '.'}weight`
    matrices.set(weight, { ...matrix, name, isProduct: matrix.isProduct || (known?.isProduct ?? false) })
  }
  for (const [weight] of matrices) {
    if (others.has(weight) && weight.int8Weight === null) matrices.delete(weight)
  }
  return matrices
}
