import type { Tensor } from '../tensor/tensor.ts'
import { checkTensor } from '../tensor/check.ts'
import { silu } from '../tensor/elementwise.ts'
import { Module } from './module.ts'

/** y = x · σ(x), as PyTorch's nn.SiLU (Elfwing, Uchibe, Doya 2017, arXiv:1702.03118). */
export class SiLU extends Module {
  /** @internal */
  static override readonly ownName: string = 'SiLU'

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape
   * @example String(new SiLU().forward(gpt.tensor([1]))) // 'tensor([0.7311])'
   */
  override forward(x: Tensor): Tensor {
    return silu(checkTensor('x', x))
  }
}
