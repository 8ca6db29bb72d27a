/** @import { Runtime } from '../runtime/runtime.js' */

import { checkNumber, checkOptions, checkSize } from '../check.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** Nanoseconds an element, about. */
const LAYERNORM_TIME = 0.3
const BACKWARD_TIME = 0.7

/**
 * Layer normalisation over the last axis (Ba, Kiros, Hinton 2016, arXiv:1607.06450), as the notebook's class:
 * y = scale · (x - mean) / √(var + eps) + shift, with the biased variance. PyTorch's nn.LayerNorm computes the same and
 * calls scale and shift weight and bias; `loadStateDict` takes those names, too.
 */
export class LayerNorm extends Module {
  /** @override @internal */
  static aliases = { weight: 'scale', bias: 'shift' }

  /** @type {Set<{ watcher: (input: Tensor, output: Tensor) => void }>} */ #watchers = new Set()

  /**
   * @param {Runtime} runtime
   * @param {number} embDim the size of the axis that is normalised
   * @param {{ eps?: number }} [options] eps: added to the variance; 1e-5 by default, above 0
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new LayerNorm(5).forward(gpt.randn([2, 5]))
   */
  constructor(runtime, embDim, options = {}) {
    super(runtime)
    checkSize('LayerNorm', 'embDim', embDim)
    const { eps } = checkOptions('LayerNorm', options, { eps: 1e-5 })
    checkNumber(
      'LayerNorm',
      'eps',
      eps,
      'a positive float32',
      (n) => Math.fround(n) > 0 && Math.fround(n) < Infinity,
    )
    /** @readonly */
    this.embDim = embDim
    /** @readonly */
    this.eps = eps
    const parameters = runtime.scope(() => ({
      scale: Tensor.empty(runtime, 'LayerNorm', [embDim]),
      shift: Tensor.empty(runtime, 'LayerNorm', [embDim]),
    }))
    /** [embDim], ones when new @type {Tensor} */
    this.scale = parameters.scale
    /** [embDim], zeros when new @type {Tensor} */
    this.shift = parameters.shift
    this.scale.data.fill(1)
    this.shift.data.fill(0)
  }

  /**
   * @override
   * @param {Tensor} x [..., embDim], not modified
   * @returns {Tensor} same shape; within 5e-6 of float64 (absolute below 1, relative above)
   * @throws {GptLayersError} SHAPE when the last axis is not embDim; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const where = 'LayerNorm.forward'
    const { runtime, embDim, eps } = this
    const rows = checkRows(runtime, where, x, embDim, 'embDim')
    const input = x
    const scale = checkTensorOf(runtime, where, 'scale', this.scale, [embDim]).byteOffset
    const shift = checkTensorOf(runtime, where, 'shift', this.shift, [embDim]).byteOffset
    /** @param {number} mean @param {number} rstd where each row's are kept, or 0 @returns {Tensor} */
    const normalise = (mean, rstd) => {
      const y = Tensor.empty(runtime, where, input.shape)
      runtime.parallel(
        input.size * LAYERNORM_TIME,
        'gpt_layernorm_forward',
        y.byteOffset,
        mean,
        rstd,
        input.byteOffset,
        scale,
        shift,
        rows,
        embDim,
        eps,
      )
      return y
    }
    if (!this.training) return this.#show(input, normalise(0, 0))
    return runtime.scope(() => {
      const mean = Tensor.empty(runtime, where, [rows])
      const rstd = Tensor.empty(runtime, where, [rows])
      const y = normalise(mean.byteOffset, rstd.byteOffset)
      this.save({ x: input, mean, rstd })
      return this.#show(input, y)
    })
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx, within 2e-5 of float64, relative to the largest, also where the mean is 1e5 deviations
   */
  backward(dy) {
    const where = 'LayerNorm.backward'
    const { runtime, embDim } = this
    const { x, mean, rstd } = this.saved(where)
    const gradient = checkTensorOf(runtime, where, 'dy', dy, x.shape)
    const scale = checkTensorOf(runtime, where, 'scale', this.scale, [embDim]).byteOffset
    return runtime.scope(() => {
      const dx = Tensor.empty(runtime, where, x.shape)
      this.addGradients(where, [this.scale, this.shift], (dscale, dshift) =>
        runtime.parallel(
          x.size * BACKWARD_TIME,
          'gpt_layernorm_backward',
          dx.byteOffset,
          dscale,
          dshift,
          gradient.byteOffset,
          x.byteOffset,
          mean.byteOffset,
          rstd.byteOffset,
          scale,
          mean.size,
          embDim,
        ),
      )
      this.release()
      return dx
    })
  }

  /**
   * Has `watcher` called in each `forward` with what went in and what came out.
   *
   * @internal
   * @param {(input: Tensor, output: Tensor) => void} watcher
   * @returns {() => void} ends it
   */
  watch(watcher) {
    const entry = { watcher } // so that one function may watch twice
    this.#watchers.add(entry)
    return () => void this.#watchers.delete(entry)
  }

  /** @param {Tensor} input @param {Tensor} output @returns {Tensor} output */
  #show(input, output) {
    for (const { watcher } of this.#watchers) watcher(input, output)
    return output
  }
}
