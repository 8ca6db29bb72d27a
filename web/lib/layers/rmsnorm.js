/** @import { Runtime } from '../runtime/runtime.js' */

import { checkOptions, checkPositiveFloat32, checkSize } from '../check.js'
import { recordKernel, records } from '../runtime/tape.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { pythonNumber } from '../tensor/pyformat.js'
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
    checkSize('embDim', embDim)
    const { eps } = checkOptions(options, { eps: 1e-5 })
    checkPositiveFloat32('eps', eps)
    /** @readonly */
    this.embDim = embDim
    /** @readonly */
    this.eps = eps
    /** [embDim], initially ones @type {Tensor} */
    this.scale = Tensor.parameter(runtime, [embDim], ({ data }) => data.fill(1))
  }

  /** @override */
  extraRepr() {
    return `${this.embDim}, eps=${pythonNumber(this.eps)}`
  }

  /**
   * @override
   * @param {Tensor} x [..., embDim], not modified
   * @returns {Tensor} of x's shape; within 1e-6 of float64 (absolute below 1, relative above)
   * @throws {GptLayersError} SHAPE when the last axis is not embDim; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const { runtime, embDim, eps } = this
    const rows = checkRows(runtime, x, embDim, 'embDim')
    const scale = checkTensorOf(runtime, 'scale', this.scale, [embDim])
    const y = Tensor.empty(runtime, x.shape)
    const rstd = records(x, scale) ? Tensor.empty(runtime, [rows]) : null
    runtime.run('gpt_rmsnorm_forward', [y, rstd, x, scale, rows, embDim, eps])
    return recordKernel(y, {
      inputs: [x, scale],
      saved: [x, rstd, scale],
      backward: (dy, dx, dscale) =>
        runtime.run('gpt_rmsnorm_backward', [dx, dscale, dy, x, rstd, scale, rows, embDim]),
    })
  }
}
