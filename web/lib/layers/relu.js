import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** Nanoseconds an element, about. */
const RELU_TIME = 0.14

/** y = max(0, x), as PyTorch's nn.ReLU. */
export class ReLU extends Module {
  /**
   * @override
   * @param {Tensor} x of any shape, not modified
   * @returns {Tensor} same shape
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   * @example new ReLU().forward(gpt.tensor([-1, 2])).toArray() // [0, 2]
   */
  forward(x) {
    const { runtime } = this
    const input = checkTensor(runtime, 'ReLU.forward', 'x', x)
    const y = Tensor.empty(runtime, 'ReLU.forward', input.shape)
    runtime.parallel(input.size * RELU_TIME, 'gpt_relu_forward', y.byteOffset, input.byteOffset, input.size)
    this.save({ x: input })
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
    const { byteOffset } = checkTensorOf(runtime, where, 'dy', dy, x.shape)
    const dx = Tensor.empty(runtime, where, x.shape)
    runtime.parallel(x.size * RELU_TIME, 'gpt_relu_backward', dx.byteOffset, byteOffset, x.byteOffset, x.size)
    this.release()
    return dx
  }
}
