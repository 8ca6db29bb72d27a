/** @import { Runtime } from '../runtime/runtime.js' */

import { checkNumber, checkOptions, checkSize } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Module } from './module.js'

/** Nanoseconds an element, about: of the statistics, of a normalisation, and of the backward pass. */
const STATISTICS_TIME = 0.4
const FORWARD_TIME = 0.6
const BACKWARD_TIME = 1.5

/**
 * Batch normalisation over all leading axes (Ioffe, Szegedy 2015, arXiv:1502.03167), as PyTorch's nn.BatchNorm1d:
 * y = scale · (x - mean) / √(var + eps) + shift. While training, with the batch's mean and biased variance, which also move
 * the running ones: running = (1 - momentum) · running + momentum · the batch's, with the unbiased variance. After `eval`,
 * with the running ones.
 *
 * PyTorch calls scale and shift weight and bias, and has one more buffer, num_batches_tracked, which it counts for a
 * momentum of None. It is ignored here.
 */
export class BatchNorm extends Module {
  /** @override @internal */
  static aliases = { weight: 'scale', bias: 'shift', num_batches_tracked: null }

  /** @internal @override */
  static buffers = ['runningMean', 'runningVar']

  /**
   * @param {Runtime} runtime
   * @param {number} numFeatures the size of the last axis
   * @param {{ eps?: number, momentum?: number }} [options] eps: added to the variance; 1e-5 by default, above 0. momentum:
   *   the share of a new batch in the running statistics, from 0 to 1; 0.1 by default
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new BatchNorm(5).forward(gpt.randn([8, 5]))
   */
  constructor(runtime, numFeatures, options = {}) {
    super(runtime)
    checkSize('BatchNorm', 'numFeatures', numFeatures)
    const { eps, momentum } = checkOptions('BatchNorm', options, { eps: 1e-5, momentum: 0.1 })
    checkNumber(
      'BatchNorm',
      'eps',
      eps,
      'a positive float32',
      (n) => Math.fround(n) > 0 && Math.fround(n) < Infinity,
    )
    checkNumber('BatchNorm', 'momentum', momentum, 'a number from 0 to 1', (n) => n >= 0 && n <= 1)
    /** @readonly */
    this.numFeatures = numFeatures
    /** @readonly */
    this.eps = eps
    /** @readonly */
    this.momentum = momentum
    const vector = () => Tensor.empty(runtime, 'BatchNorm', [numFeatures])
    const tensors = runtime.scope(() => ({
      scale: vector(),
      shift: vector(),
      mean: vector(),
      variance: vector(),
    }))
    /** [numFeatures], ones when new @type {Tensor} */
    this.scale = tensors.scale
    /** [numFeatures], zeros when new @type {Tensor} */
    this.shift = tensors.shift
    /** [numFeatures], zeros when new; not trained @type {Tensor} */
    this.runningMean = tensors.mean
    /** [numFeatures], ones when new; not trained @type {Tensor} */
    this.runningVar = tensors.variance
    this.scale.data.fill(1)
    this.shift.data.fill(0)
    this.runningMean.data.fill(0)
    this.runningVar.data.fill(1)
  }

  /**
   * @override
   * @param {Tensor} x [..., numFeatures], not modified; 2 rows or more in training mode
   * @returns {Tensor} same shape; within 5e-6 of float64 (absolute below 1, relative above)
   * @throws {GptLayersError} SHAPE when the last axis is not numFeatures; VALUE for fewer rows in training mode; TYPE,
   *   DISPOSED, MEMORY
   */
  forward(x) {
    const where = 'BatchNorm.forward'
    const { runtime, numFeatures, momentum } = this
    const rows = checkRows(runtime, where, x, numFeatures, 'numFeatures')
    const input = x
    if (this.training && rows < 2) {
      throw new GptLayersError(
        'VALUE',
        `${where}: x should have 2 rows or more in training mode, got shape [${input.shape.join(', ')}]`,
      )
    }
    const pointer = (/** @type {'scale' | 'shift' | 'runningMean' | 'runningVar'} */ name) =>
      checkTensorOf(runtime, where, name, this[name], [numFeatures]).byteOffset
    const [scale, shift] = [pointer('scale'), pointer('shift')]
    const [runningMean, runningVar] = [pointer('runningMean'), pointer('runningVar')]
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, where, input.shape)
      const normalise = (
        /** @type {number} */ mean,
        /** @type {number} */ off,
        /** @type {number} */ variance,
      ) =>
        runtime.parallel(
          input.size * FORWARD_TIME,
          'gpt_batchnorm_forward',
          y.byteOffset,
          input.byteOffset,
          mean,
          off,
          variance,
          scale,
          shift,
          rows,
          numFeatures,
          this.eps,
        )
      if (!this.training) {
        normalise(runningMean, 0, runningVar)
        return y
      }
      // off: what the mean, a float32, is off by
      const [mean, off, variance] = [0, 1, 2].map(() => Tensor.empty(runtime, where, [numFeatures]))
      const statistics = [mean.byteOffset, off.byteOffset, variance.byteOffset]
      const time = input.size * STATISTICS_TIME
      runtime.parallel(time, 'gpt_batchnorm_statistics', ...statistics, input.byteOffset, rows, numFeatures)
      normalise(mean.byteOffset, off.byteOffset, variance.byteOffset)
      runtime.call(
        'gpt_batchnorm_update',
        runningMean,
        runningVar,
        ...statistics,
        rows,
        numFeatures,
        momentum,
      )
      this.save({ x: input, mean, off, variance })
      return y
    })
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx, through the batch's statistics as well
   */
  backward(dy) {
    const where = 'BatchNorm.backward'
    const { runtime, numFeatures, eps } = this
    const { x, mean, off, variance } = this.saved(where)
    const { byteOffset } = checkTensorOf(runtime, where, 'dy', dy, x.shape)
    const scale = checkTensorOf(runtime, where, 'scale', this.scale, [numFeatures]).byteOffset
    checkTensorOf(runtime, where, 'shift', this.shift, [numFeatures]).byteOffset
    const dx = runtime.scope(() => {
      const dx = Tensor.empty(runtime, where, x.shape)
      this.addGradients(where, [this.scale, this.shift], (dscale, dshift) =>
        runtime.parallel(
          x.size * BACKWARD_TIME,
          'gpt_batchnorm_backward',
          dx.byteOffset,
          dscale,
          dshift,
          byteOffset,
          x.byteOffset,
          mean.byteOffset,
          off.byteOffset,
          variance.byteOffset,
          scale,
          x.size / numFeatures,
          numFeatures,
          eps,
        ),
      )
      return dx
    })
    this.release()
    return dx
  }
}
