/** @import { Pointer, Runtime } from '../runtime/runtime.js' */

import { checkOptions, checkPositiveFloat32, checkSize } from '../check.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { addGradients } from '../tensor/gradients.js'
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
    checkSize('LayerNorm', 'embDim', embDim)
    const { eps } = checkOptions('LayerNorm', options, { eps: 1e-5 })
    checkPositiveFloat32('LayerNorm', 'eps', eps)
    /** @readonly */
    this.embDim = embDim
    /** @readonly */
    this.eps = eps
    this.fix('embDim', 'eps')
    const { scale, shift } = runtime.scope(() => ({
      scale: Tensor.empty(runtime, 'LayerNorm', [embDim]),
      shift: Tensor.empty(runtime, 'LayerNorm', [embDim]),
    }))
    /** [embDim], initially ones @type {Tensor} */
    this.scale = scale
    /** [embDim], initially zeros @type {Tensor} */
    this.shift = shift
    this.scale.data.fill(1)
    this.shift.data.fill(0)
  }

  /**
   * @override
   * @param {Tensor} x [..., embDim], not modified
   * @returns {Tensor} of x's shape; within 5e-6 of float64 (absolute below 1, relative above)
   * @throws {GptLayersError} SHAPE when the last axis is not embDim; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const where = 'LayerNorm.forward'
    const { runtime, embDim } = this
    const rows = checkRows(runtime, where, x, embDim, 'embDim')
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, where, x.shape)
      const mean = this.training ? Tensor.empty(runtime, where, [rows]) : null
      const rstd = this.training ? Tensor.empty(runtime, where, [rows]) : null
      LayerNorm.run(this, y, x, rows, mean, rstd)
      if (mean && rstd) this.save({ x, mean, rstd })
      return y
    })
  }

  /**
   * The kernel of `forward` alone.
   *
   * @internal
   * @param {LayerNorm} layer
   * @param {Pointer} y [rows, embDim]
   * @param {Pointer} x [rows, embDim]
   * @param {number} rows
   * @param {Tensor | null} [mean] [rows]
   * @param {Tensor | null} [rstd] [rows]
   * @throws {GptLayersError} where a parameter is not as it should be
   */
  static run(layer, y, x, rows, mean = null, rstd = null) {
    const where = 'LayerNorm.forward'
    const { runtime, embDim, eps } = layer
    const scale = checkTensorOf(runtime, where, 'scale', layer.scale, [embDim])
    const shift = checkTensorOf(runtime, where, 'shift', layer.shift, [embDim])
    runtime.run('gpt_layernorm_forward', [y, mean, rstd, x, scale, shift, rows, embDim, eps])
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx; within 2e-5 of float64 relative to the largest, even where the mean is 1e5 standard
   *   deviations
   */
  backward(dy) {
    const where = 'LayerNorm.backward'
    const { runtime, embDim } = this
    const { x, mean, rstd } = this.saved(where)
    const rows = mean.size
    checkTensorOf(runtime, where, 'dy', dy, x.shape)
    const scale = checkTensorOf(runtime, where, 'scale', this.scale, [embDim])
    const shift = checkTensorOf(runtime, where, 'shift', this.shift, [embDim])
    return runtime.scope(() => {
      const dx = Tensor.empty(runtime, where, x.shape)
      addGradients(runtime, where, [scale, shift], (dscale, dshift) =>
        runtime.run('gpt_layernorm_backward', [dx, dscale, dshift, dy, x, mean, rstd, scale, rows, embDim]),
      )
      return dx
    })
  }
}
