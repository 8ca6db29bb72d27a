import { recordKernel } from '../runtime/tape.ts'
import { checkTensor } from '../tensor/check.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

/** y = max(0, x), as PyTorch's nn.ReLU. Its gradient at 0 is 0. */
export class ReLU extends Module {
  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   * @example new ReLU().forward(gpt.tensor([-1, 2])).toArray() // [0, 2]
   */
  override forward(x: Tensor): Tensor {
    const { runtime } = this
    checkTensor(runtime, 'x', x)
    const y = Tensor.empty(runtime, x.shape)
    runtime.run('gpt_relu_forward', [y, x, x.size])
    return recordKernel(y, {
      inputs: [x],
      saved: [x],
      backward: (dy, dx) => runtime.run('gpt_relu_backward', [dx, dy, x, x.size]),
    })
  }
}
