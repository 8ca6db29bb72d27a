import type { Tensor } from '../tensor/tensor.ts'
import { checkTensor } from '../tensor/check.ts'
import { relu } from '../tensor/elementwise.ts'
import { Module } from './module.ts'

/** y = max(0, x), as PyTorch's nn.ReLU. Its gradient at 0 is 0. */
export class ReLU extends Module {
  /** @internal */
  static override readonly ownName: string = 'ReLU'

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape
   * @example new ReLU().forward(gpt.tensor([-1, 2])).toArray() // [0, 2]
   */
  override forward(x: Tensor): Tensor {
    return relu(checkTensor('x', x))
  }
}
