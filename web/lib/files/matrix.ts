// The weights that a layer multiplies by, or looks rows up in. Files have them under other names, transposed, in
// parts, or in int8. Only such a layer reaches the code for that, so an app without one does not ship it.

import { sameShape } from '../check.ts'
import { Tensor } from '../tensor/tensor.ts'
import { GPT } from './gptnames.ts'
import { int8 } from './int8.ts'

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
