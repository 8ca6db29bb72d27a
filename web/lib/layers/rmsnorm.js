/** @import { Runtime } from '../runtime/runtime.js' */

import { checkNumber, checkOptions, checkSize } from '../check.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** Nanoseconds an element, about. */
const FORWARD_TIME = 0.3
const BACKWARD_TIME = 0.7

/**
 * Root mean square normalisation over the last axis (Zhang, Sennrich 2019, arXiv:1910.07467):
 * y = scale · x / √(mean(x²) + eps). PyTorch's nn.RMSNorm computes the same and calls scale weight.
 */
export class RMSNorm extends Module {
  /** @override @internal */
  static aliases = { weight: 'scale' }

  /**
   * @param {Runtime} runtime
   * @param {number} embDim the size of the axis that is normalised
   * @param {{ eps?: number }} [options] eps: added to the mean square; 1e-5 by default, above 0
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new RMSNorm(5).forward(gpt.randn([2, 5]))
   */
  constructor(runtime, embDim, options = {}) {
    super(runtime)
    checkSize('RMSNorm', 'embDim', embDim)
    const { eps } = checkOptions('RMSNorm', options, { eps: 1e-5 })
    checkNumber(
      'RMSNorm',
      'eps',
      eps,
      'a positive float32',
      (n) => Math.fround(n) > 0 && Math.fround(n) < Infinity,
    )
    /** @readonly */
    this.embDim = embDim
    /** @readonly */
    this.eps = eps
    /** [embDim], ones when new @type {Tensor} */
    this.scale = Tensor.empty(runtime, 'RMSNorm', [embDim])
    this.scale.data.fill(1)
  }

  /**
   * @override
   * @param {Tensor} x [..., embDim], not modified
   * @returns {Tensor} same shape; within 1e-6 of float64 (absolute below 1, relative above)
   * @throws {GptLayersError} SHAPE when the last axis is not embDim; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const where = 'RMSNorm.forward'
    const { runtime, embDim, eps } = this
    const rows = checkRows(runtime, where, x, embDim, 'embDim')
    const input = x
    const scale = checkTensorOf(runtime, where, 'scale', this.scale, [embDim]).byteOffset
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, where, input.shape)
      const rstd = Tensor.empty(runtime, where, [rows])
      runtime.parallel(
        input.size * FORWARD_TIME,
        'gpt_rmsnorm_forward',
        y.byteOffset,
        rstd.byteOffset,
        input.byteOffset,
        scale,
        rows,
        embDim,
        eps,
      )
      this.save({ x: input, rstd })
      return y
    })
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx
   */
  backward(dy) {
    const where = 'RMSNorm.backward'
    const { runtime, embDim } = this
    const { x, rstd } = this.saved(where)
    const { byteOffset } = checkTensorOf(runtime, where, 'dy', dy, x.shape)
    const scale = checkTensorOf(runtime, where, 'scale', this.scale, [embDim]).byteOffset
    const dx = runtime.scope(() => {
      const dx = Tensor.empty(runtime, where, x.shape)
      this.addGradients(where, [this.scale], (dscale) =>
        runtime.parallel(
          x.size * BACKWARD_TIME,
          'gpt_rmsnorm_backward',
          dx.byteOffset,
          dscale,
          byteOffset,
          x.byteOffset,
          rstd.byteOffset,
          scale,
          rstd.size,
          embDim,
        ),
      )
      return dx
    })
    this.release()
    return dx
  }
}
