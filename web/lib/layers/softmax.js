import { checkTensor, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** Nanoseconds an element, about. */
const FORWARD_TIME = 1.2
const BACKWARD_TIME = 0.3

/** y = e^x / Σ e^x over the last axis, as PyTorch's nn.Softmax(dim=-1). */
export class Softmax extends Module {
  /**
   * @override
   * @param {Tensor} x [..., n], not modified
   * @returns {Tensor} same shape; within 1e-6 of float64
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   * @example new Softmax().forward(gpt.tensor([0, 0, -Infinity])).toArray() // [0.5, 0.5, 0]
   */
  forward(x) {
    const { runtime } = this
    const input = checkTensor(runtime, 'Softmax.forward', 'x', x)
    const y = Tensor.empty(runtime, 'Softmax.forward', input.shape)
    const { rows, cols } = rowsOf(input)
    runtime.parallel(
      input.size * FORWARD_TIME,
      'gpt_softmax_forward',
      y.byteOffset,
      input.byteOffset,
      rows,
      cols,
    )
    this.save({ y })
    return y
  }

  /**
   * What `forward` returned must not have changed since.
   *
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx = y · (dy - Σ dy·y)
   */
  backward(dy) {
    const where = 'Softmax.backward'
    const { runtime } = this
    const { y } = this.saved(where)
    const { byteOffset } = checkTensorOf(runtime, where, 'dy', dy, y.shape)
    const dx = Tensor.empty(runtime, where, y.shape)
    const { rows, cols } = rowsOf(y)
    const time = y.size * BACKWARD_TIME
    runtime.parallel(time, 'gpt_softmax_backward', dx.byteOffset, byteOffset, y.byteOffset, rows, cols)
    this.release()
    return dx
  }
}

/** @param {Tensor} tensor of which a single value is a row as well */
function rowsOf({ shape, size }) {
  const cols = shape.at(-1) ?? 1
  return { rows: cols === 0 ? 0 : size / cols, cols }
}
