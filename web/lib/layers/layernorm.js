/** @import { Runtime } from '../runtime/runtime.js' */

import { checkOptions, checkPositiveFloat32, checkSize } from '../check.js'
import { recordKernel, records } from '../runtime/tape.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { pythonNumber } from '../tensor/pyformat.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/**
 * @typedef {object} LayerNormOptions
 * @property {number} [eps] added to the variance, above 0; 1e-5 by default
 */

/**
 * Layer normalization over the last axis (Ba, Kiros, Hinton 2016, arXiv:1607.06450), as the notebook's class:
 * y = scale · (x - mean) / √(var + eps) + shift, with the biased variance (divided by embDim). PyTorch's
 * nn.LayerNorm computes the same and calls scale and shift weight and bias; `loadStateDict` takes those
 * names, too.
 */
export class LayerNorm extends Module {
  /** PyTorch's names. @override @internal */
  static aliases = { weight: 'scale', bias: 'shift' }

  /**
   * @param {Runtime} runtime
   * @param {number} embDim the size of the last axis
   * @param {LayerNormOptions} [options]
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new LayerNorm(5).forward(gpt.randn([2, 5])).shape // [2, 5]
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
    /** [embDim], initially zeros @type {Tensor} */
    this.shift = Tensor.parameter(runtime, [embDim], ({ data }) => data.fill(0))
  }

  /** @override */
  extraRepr() {
    return `${this.embDim}, eps=${pythonNumber(this.eps)}`
  }

  /**
   * @override
   * @param {Tensor} x [..., embDim], not modified
   * @returns {Tensor} of x's shape; within 5e-6 of float64 (absolute below 1, relative above). The gradient
   *   is within 2e-5 of float64 relative to the largest, even where the mean is 1e5 standard deviations
   * @throws {GptLayersError} SHAPE when the last axis is not embDim; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const { runtime, embDim, eps } = this
    const rows = checkRows(runtime, x, embDim, 'embDim')
    const scale = checkTensorOf(runtime, 'scale', this.scale, [embDim])
    const shift = checkTensorOf(runtime, 'shift', this.shift, [embDim])
    const y = Tensor.empty(runtime, x.shape)
    const keeps = records(x, scale, shift)
    const mean = keeps ? Tensor.empty(runtime, [rows]) : null
    const rstd = keeps ? Tensor.empty(runtime, [rows]) : null
    runtime.run('gpt_layernorm_forward', [y, mean, rstd, x, scale, shift, rows, embDim, eps])
    return recordKernel(y, {
      inputs: [x, scale, shift],
      saved: [x, mean, rstd, scale],
      backward: (dy, dx, dscale, dshift) => {
        const read = [dy, x, mean, rstd, scale]
        runtime.run('gpt_layernorm_backward', [dx, dscale, dshift, ...read, rows, embDim])
      },
    })
  }
}
