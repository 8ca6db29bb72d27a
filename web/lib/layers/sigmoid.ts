import type { Tensor } from '../tensor/tensor.ts'
import { checkTensor } from '../tensor/check.ts'
import { sigmoid } from '../tensor/elementwise.ts'
import { Module } from './module.ts'

/** y = σ(x) = 1 / (1 + e^(-x)), as PyTorch's nn.Sigmoid. */
export class Sigmoid extends Module {
  /** @internal */
  static override readonly ownName: string = 'Sigmoid'

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape
   * @example new Sigmoid().forward(gpt.tensor([0])).toArray() // [0.5]
   */
  override forward(x: Tensor): Tensor {
    return sigmoid(checkTensor('x', x))
  }
}
