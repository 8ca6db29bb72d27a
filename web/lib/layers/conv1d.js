/** @import { Runtime } from '../runtime/runtime.js' */

import { checkBoolean, checkOptions, checkSize } from '../check.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** The deviation that GPT-2's weights are drawn with. */
const DEVIATION = 0.02

/**
 * y = x · weight + bias, GPT-2's linear layer, as transformers' Conv1D: a Linear whose weight lies the other way
 * round, and whose sizes come in the other order.
 */
export class Conv1D extends Module {
  /**
   * Draws the weight from N(0, 0.02) by the instance's generator, as PyTorch's `nn.init.normal_` does. The bias is
   * zeros.
   *
   * @param {Runtime} runtime
   * @param {number} nf features that come out
   * @param {number} nx features that go in
   * @param {{ bias?: boolean }} [options] bias: whether there is one; true by default
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new Conv1D(6, 5).forward(gpt.randn([2, 5])).shape // [2, 6]
   */
  constructor(runtime, nf, nx, options = {}) {
    super(runtime)
    checkSize('Conv1D', 'nf', nf)
    checkSize('Conv1D', 'nx', nx)
    const { bias } = checkOptions('Conv1D', options, { bias: true })
    checkBoolean('Conv1D', 'bias', bias)
    /** @readonly */
    this.nf = nf
    /** @readonly */
    this.nx = nx
    const parameters = runtime.scope(() => ({
      weight: Tensor.empty(runtime, 'Conv1D', [nx, nf]),
      bias: bias ? Tensor.empty(runtime, 'Conv1D', [nf]) : null,
    }))
    /** [nx, nf] @type {Tensor} */
    this.weight = parameters.weight
    /** [nf], or null without one @type {Tensor | null} */
    this.bias = parameters.bias
    runtime.generator.normal(this.weight, DEVIATION)
    this.bias?.data.fill(0)
  }

  /**
   * @override
   * @param {Tensor} x [..., nx], not modified
   * @returns {Tensor} [..., nf]
   * @throws {GptLayersError} SHAPE when the last axis is not nx; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const where = 'Conv1D.forward'
    const { runtime, nf, nx } = this
    const rows = checkRows(runtime, where, x, nx, 'nx')
    const input = x
    const { weight, bias } = this.#pointers(where)
    // One row is read from memory and little else, which goes best in one stream: with the weight's rows read by halves
    // 768 to 3072 takes 0.67 ms, whole 0.27.
    const parts = rows === 1 ? 1 : runtime.timedParts(this.#time(rows))
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, where, [...input.shape.slice(0, -1), nf])
      const scratch = Tensor.empty(runtime, where, [
        parts * runtime.exports.gpt_conv1d_scratch_size(rows, nx),
      ])
      runtime.inParts(
        parts,
        'gpt_conv1d_forward',
        y.byteOffset,
        scratch.byteOffset,
        input.byteOffset,
        weight,
        bias,
        rows,
        nx,
        nf,
      )
      this.save({ x: input })
      return y
    })
  }

  /**
   * @override
   * @param {Tensor} dy [..., nf], not modified
   * @returns {Tensor} dx [..., nx]: dy · weightᵀ; adds xᵀ · dy to weight.grad and dy's sums to bias.grad
   */
  backward(dy) {
    const where = 'Conv1D.backward'
    const { runtime, nf, nx } = this
    const { x } = this.saved(where)
    const rows = x.size / nx
    const gradient = checkTensorOf(runtime, where, 'dy', dy, [...x.shape.slice(0, -1), nf])
    const { weight } = this.#pointers(where)
    const parts = runtime.timedParts(2 * this.#time(rows))
    return runtime.scope(() => {
      const dx = Tensor.empty(runtime, where, x.shape)
      const scratch = Tensor.empty(runtime, where, [
        parts * runtime.exports.gpt_conv1d_backward_scratch_size(rows, nf),
      ])
      this.addGradients(where, [this.weight, this.bias], (dweight, dbias) =>
        runtime.inParts(
          parts,
          'gpt_conv1d_backward',
          dx.byteOffset,
          dweight,
          dbias,
          scratch.byteOffset,
          gradient.byteOffset,
          x.byteOffset,
          weight,
          rows,
          nx,
          nf,
        ),
      )
      this.release()
      return dx
    })
  }

  /**
   * How long one thread takes for so many rows, about, in nanoseconds: 20 multiply-adds each.
   *
   * @param {number} rows
   */
  #time(rows) {
    return (rows * this.nx * this.nf) / 20
  }

  /**
   * Where the parameters lie, for a kernel; bias is 0 without one.
   *
   * @param {string} where
   */
  #pointers(where) {
    const { runtime, nf, nx } = this
    return {
      weight: checkTensorOf(runtime, where, 'weight', this.weight, [nx, nf]).byteOffset,
      bias: this.bias === null ? 0 : checkTensorOf(runtime, where, 'bias', this.bias, [nf]).byteOffset,
    }
  }
}
