/** @import { Runtime } from '../runtime/runtime.js' */

import { checkBoolean, checkOptions, checkSize } from '../check.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** y = x · weightᵀ + bias, as PyTorch's nn.Linear. */
export class Linear extends Module {
  /**
   * Draws the weight, then the bias, from the instance's generator as PyTorch does: both U(-1/√inFeatures, 1/√inFeatures).
   *
   * @param {Runtime} runtime
   * @param {number} inFeatures
   * @param {number} outFeatures
   * @param {{ bias?: boolean }} [options] bias: whether there is one; true by default
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new Linear(5, 6).forward(gpt.randn([2, 5])).shape // [2, 6]
   */
  constructor(runtime, inFeatures, outFeatures, options = {}) {
    super(runtime)
    checkSize('Linear', 'inFeatures', inFeatures)
    checkSize('Linear', 'outFeatures', outFeatures)
    const { bias } = checkOptions('Linear', options, { bias: true })
    checkBoolean('Linear', 'bias', bias)
    /** @readonly */
    this.inFeatures = inFeatures
    /** @readonly */
    this.outFeatures = outFeatures
    const parameters = runtime.scope(() => ({
      weight: Tensor.empty(runtime, 'Linear', [outFeatures, inFeatures]),
      bias: bias ? Tensor.empty(runtime, 'Linear', [outFeatures]) : null,
    }))
    /** [outFeatures, inFeatures] @type {Tensor} */
    this.weight = parameters.weight
    /** [outFeatures], or null without one @type {Tensor | null} */
    this.bias = parameters.bias
    runtime.generator.linear(this.weight, this.bias, inFeatures, outFeatures)
  }

  /**
   * @override
   * @param {Tensor} x [..., inFeatures], not modified
   * @returns {Tensor} [..., outFeatures]
   * @throws {GptLayersError} SHAPE when the last axis is not inFeatures; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const { runtime, inFeatures, outFeatures } = this
    const rows = checkRows(runtime, 'Linear.forward', x, inFeatures, 'inFeatures')
    const input = x
    const { weight, bias } = this.pointers('Linear.forward')
    const parts = runtime.timedParts(this.time(rows))
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, 'Linear.forward', [...input.shape.slice(0, -1), outFeatures])
      const scratch = Tensor.empty(runtime, 'Linear.forward', [
        parts * runtime.exports.gpt_linear_scratch_size(rows, inFeatures),
      ])
      runtime.inParts(
        parts,
        'gpt_linear_forward',
        y.byteOffset,
        scratch.byteOffset,
        input.byteOffset,
        weight,
        bias,
        rows,
        inFeatures,
        outFeatures,
      )
      this.save({ x: input })
      return y
    })
  }

  /**
   * @override
   * @param {Tensor} dy [..., outFeatures], not modified
   * @returns {Tensor} dx [..., inFeatures]: dy · weight; adds dyᵀ · x to weight.grad and dy's sums to bias.grad
   */
  backward(dy) {
    const where = 'Linear.backward'
    const { runtime, inFeatures, outFeatures } = this
    const { x } = this.saved(where)
    const rows = x.size / inFeatures
    const gradient = checkTensorOf(runtime, where, 'dy', dy, [...x.shape.slice(0, -1), outFeatures])
    const { weight } = this.pointers(where)
    const parts = runtime.timedParts(2 * this.time(rows))
    return runtime.scope(() => {
      const dx = Tensor.empty(runtime, where, x.shape)
      const scratch = Tensor.empty(runtime, where, [
        parts * runtime.exports.gpt_linear_backward_scratch_size(rows, outFeatures),
      ])
      this.addGradients(where, [this.weight, this.bias], (dweight, dbias) =>
        runtime.inParts(
          parts,
          'gpt_linear_backward',
          dx.byteOffset,
          dweight,
          dbias,
          scratch.byteOffset,
          gradient.byteOffset,
          x.byteOffset,
          weight,
          rows,
          inFeatures,
          outFeatures,
        ),
      )
      this.release()
      return dx
    })
  }

  /**
   * How long one thread takes for so many rows, about, in nanoseconds: 20 multiply-adds each.
   *
   * @internal
   * @param {number} rows
   */
  time(rows) {
    return (rows * this.inFeatures * this.outFeatures) / 20
  }

  /**
   * Where the parameters lie, for a kernel; bias is 0 without one.
   *
   * @internal
   * @param {string} where
   */
  pointers(where) {
    const { runtime, inFeatures, outFeatures } = this
    return {
      weight: checkTensorOf(runtime, where, 'weight', this.weight, [outFeatures, inFeatures]).byteOffset,
      bias:
        this.bias === null ? 0 : checkTensorOf(runtime, where, 'bias', this.bias, [outFeatures]).byteOffset,
    }
  }
}
