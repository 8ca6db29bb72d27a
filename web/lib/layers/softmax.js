import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** y = e^x / Σ e^x over the last axis, as PyTorch's nn.Softmax(dim=-1). */
export class Softmax extends Module {
  /**
   * @override
   * @param {Tensor} x [..., n], not modified
   * @returns {Tensor} of x's shape; within 1e-6 of float64. It must not be modified until `backward`
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   * @example new Softmax().forward(gpt.tensor([0, 0, -Infinity])).toArray() // [0.5, 0.5, 0]
   */
  forward(x) {
    const where = 'Softmax.forward'
    const { runtime } = this
    checkTensor(runtime, where, 'x', x)
    const y = Tensor.empty(runtime, where, x.shape)
    runtime.run('gpt_softmax_forward', [y, x, ...matrixOf(x)])
    this.save({ y })
    return y
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx = y · (dy - Σ dy·y)
   */
  backward(dy) {
    const where = 'Softmax.backward'
    const { runtime } = this
    const { y } = this.saved(where)
    checkTensorOf(runtime, where, 'dy', dy, y.shape)
    const dx = Tensor.empty(runtime, where, y.shape)
    runtime.run('gpt_softmax_backward', [dx, dy, y, ...matrixOf(y)])
    return dx
  }
}

/** @param {Tensor} tensor @returns {[number, number]} rows and columns; shape [] is one row of one */
function matrixOf({ shape, size }) {
  const cols = shape.at(-1) ?? 1
  return [cols === 0 ? 0 : size / cols, cols]
}
