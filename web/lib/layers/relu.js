import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** y = max(0, x), as PyTorch's nn.ReLU. */
export class ReLU extends Module {
  /**
   * @override
   * @param {Tensor} x of any shape, not modified
   * @returns {Tensor} of x's shape
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   * @example new ReLU().forward(gpt.tensor([-1, 2])).toArray() // [0, 2]
   */
  forward(x) {
    const where = 'ReLU.forward'
    const { runtime } = this
    checkTensor(runtime, where, 'x', x)
    const y = Tensor.empty(runtime, where, x.shape)
    runtime.run('gpt_relu_forward', [y, x, x.size])
    this.save({ x })
    return y
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx: dy where x > 0, otherwise 0
   */
  backward(dy) {
    const where = 'ReLU.backward'
    const { runtime } = this
    const { x } = this.saved(where)
    checkTensorOf(runtime, where, 'dy', dy, x.shape)
    const dx = Tensor.empty(runtime, where, x.shape)
    runtime.run('gpt_relu_backward', [dx, dy, x, x.size])
    return dx
  }
}
