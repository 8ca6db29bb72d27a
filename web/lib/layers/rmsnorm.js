/** @import { Runtime } from '../runtime/runtime.js' */

import { checkOptions, checkPositiveFloat32, checkSize } from '../check.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { addGradients } from '../tensor/gradients.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/**
 * @typedef {object} RMSNormOptions
 * @property {number} [eps] added to the mean square, above 0; 1e-5 by default
 */

/**
 * Root mean square normalization over the last axis (Zhang, Sennrich 2019, arXiv:1910.07467):
 * y = scale · x / √(mean(x²) + eps). PyTorch's nn.RMSNorm computes the same and calls scale weight.
 */
export class RMSNorm extends Module {
  /** PyTorch's name. @override @internal */
  static aliases = { weight: 'scale' }

  /**
   * @param {Runtime} runtime
   * @param {number} embDim the size of the last axis
   * @param {RMSNormOptions} [options]
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new RMSNorm(5).forward(gpt.randn([2, 5])).shape // [2, 5]
   */
  constructor(runtime, embDim, options = {}) {
    super(runtime)
    checkSize('RMSNorm', 'embDim', embDim)
    const { eps } = checkOptions('RMSNorm', options, { eps: 1e-5 })
    checkPositiveFloat32('RMSNorm', 'eps', eps)
    /** @readonly */
    this.embDim = embDim
    /** @readonly */
    this.eps = eps
    this.fix('embDim', 'eps')
    /** [embDim], initially ones @type {Tensor} */
    this.scale = Tensor.empty(runtime, 'RMSNorm', [embDim])
    this.scale.data.fill(1)
  }

  /**
   * @override
   * @param {Tensor} x [..., embDim], not modified
   * @returns {Tensor} of x's shape; within 1e-6 of float64 (absolute below 1, relative above)
   * @throws {GptLayersError} SHAPE when the last axis is not embDim; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const where = 'RMSNorm.forward'
    const { runtime, embDim, eps } = this
    const rows = checkRows(runtime, where, x, embDim, 'embDim')
    const scale = checkTensorOf(runtime, where, 'scale', this.scale, [embDim])
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, where, x.shape)
      const rstd = Tensor.empty(runtime, where, [rows])
      runtime.run('gpt_rmsnorm_forward', [y, rstd, x, scale, rows, embDim, eps])
      this.save({ x, rstd })
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
    const rows = rstd.size
    checkTensorOf(runtime, where, 'dy', dy, x.shape)
    const scale = checkTensorOf(runtime, where, 'scale', this.scale, [embDim])
    return runtime.scope(() => {
      const dx = Tensor.empty(runtime, where, x.shape)
      addGradients(runtime, where, [scale], (dscale) =>
        runtime.run('gpt_rmsnorm_backward', [dx, dscale, dy, x, rstd, scale, rows, embDim]),
      )
      return dx
    })
  }
}
