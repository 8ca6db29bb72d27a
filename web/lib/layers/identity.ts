import type { Tensor } from '../tensor/tensor.ts'
import { checkTensor } from '../tensor/check.ts'
import { Module } from './module.ts'

/**
 * y = x, as PyTorch's nn.Identity. It takes the place of a layer that you want to do without: a model whose
 * `finalNorm` is an Identity has no final layer norm.
 */
export class Identity extends Module {
  /** @internal */
  static override readonly ownName: string = 'Identity'

  /**
   * @param x any shape, not modified
   * @returns y = x. It shares x's memory, as `x.reshape(x.shape)`
   * @example
   * model.finalNorm = new Identity()
   * model.eval().forward([0, 1, 2]).shape // [3, 5]
   */
  override forward(x: Tensor): Tensor {
    checkTensor('x', x)
    return x.reshape(x.shape)
  }
}
