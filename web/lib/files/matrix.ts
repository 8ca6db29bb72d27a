// The weights that a layer multiplies by, or looks rows up in. Files have them under other names, transposed, in
// parts, or in int8. Only such a layer reaches the code for that, so an app without one does not ship it.

import { Tensor } from '../tensor/tensor.ts'
import { GPT } from './gptnames.ts'
import { int8 } from './int8.ts'
import { sameShape } from '../tensor/shape.ts'

export interface Matrix {
  weight: Tensor
  /** whether its shape is [inputs, outputs] */
  transposed: boolean
  /** whether the layer computes a matrix product; Embedding does not */
  isProduct: boolean
  names: typeof GPT
  int8: typeof int8
}

/** Those of a layer and of the layers inside. `name`: the first of the names of the weight. */
export type Matrices = ReadonlyMap<Tensor, Matrix & { name: string }>

/**
 * @param weight the property of a layer, which the user may have replaced
 * @param shape that the layer needs
 */
export const asMatrix = (
  weight: unknown,
  shape: readonly number[],
  reading: { transposed: boolean; isProduct: boolean },
): Matrix | null =>
  weight instanceof Tensor && sameShape(weight.shape, shape) ? { weight, ...reading, names: GPT, int8 } : null

/** A Module. */
interface Layer {
  readonly int8Matrix: Matrix | null
  ownParts(): [string, unknown][]
}

/**
 * The matrices of layers that are int8 or may become so: each layer that has one can read it so, and they agree
 * on its order.
 */
export function matricesOf(layers: readonly [string, Layer][]): Matrices {
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
