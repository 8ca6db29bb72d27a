import { checkNonNegativeFloat32, checkOptions, checkProbability, checkSize } from '../check.ts'
import { fail } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { pythonNumber } from '../tensor/pyformat.ts'
import { temporary } from '../runtime/scope.ts'
import { record, recordKernel } from '../tensor/tape.ts'
import { checkRows, checkTensorOf, Tensor } from '../tensor/tensor.ts'
import { constructLayer, Module } from './module.ts'

export interface BatchNormOptions {
  /** added to the variance; 1e-5 by default */
  eps?: number
  /** the weight of a new batch in the running statistics, from 0 to 1; 0.1 by default */
  momentum?: number
}

/**
 * Batch normalization over all leading axes (Ioffe, Szegedy 2015, arXiv:1502.03167), as PyTorch's
 * nn.BatchNorm1d: y = scale · (x - mean) / √(var + eps) + shift.
 *
 * - In training mode mean and var are the batch's, var biased. They also update the running statistics:
 *   running = (1 - momentum) · running + momentum · the batch's, var unbiased.
 * - In evaluation mode mean and var are the running statistics.
 *
 * PyTorch calls scale and shift weight and bias. Its buffer num_batches_tracked is ignored: PyTorch needs it
 * only for momentum=None.
 */
export class BatchNorm extends Module {
  /** @internal */
  static override readonly ownName: string = 'BatchNorm'

  readonly numFeatures!: number
  readonly eps!: number
  readonly momentum!: number
  /** [numFeatures], initially ones */
  scale!: Tensor
  /** [numFeatures], initially zeros */
  shift!: Tensor
  /** [numFeatures], initially zeros; a buffer */
  runningMean!: Tensor
  /** [numFeatures], initially ones; a buffer */
  runningVar!: Tensor

  /**
   * @param numFeatures the size of the last axis
   * @example new BatchNorm(5).forward(gpt.randn([8, 5])).shape // [8, 5]
   */
  constructor(numFeatures: number, options?: BatchNormOptions) {
    super()
    const body = () => {
      checkSize('numFeatures', numFeatures)
      const checks = { eps: checkNonNegativeFloat32, momentum: checkProbability }
      const given = checkOptions(options, { eps: 1e-5, momentum: 0.1 }, checks)
      const shape = [numFeatures]
      return {
        numFeatures,
        ...given,
        scale: Tensor.parameter(shape, ({ data }) => data.fill(1)),
        shift: Tensor.parameter(shape, ({ data }) => data.fill(0)),
        runningMean: Tensor.full(shape, 0),
        runningVar: Tensor.full(shape, 1),
      }
    }
    constructLayer<BatchNorm>(this, arguments, 2, body, 'eps momentum')
  }

  override extraRepr(): string {
    return `${this.numFeatures}, eps=${pythonNumber(this.eps)}, momentum=${this.momentum}`
  }

  /**
   * @param x [..., numFeatures], not modified; at least 2 rows in training mode
   * @returns a tensor of x's shape; within 5e-6 of float64 (absolute below 1, relative above), for all
   *   finite numbers: PyTorch gives 0 or NaN from about 1e19 on. `runningVar` is then infinite, as PyTorch's
   * @throws {GptLayersError} SHAPE when the last axis is not numFeatures; VALUE for fewer rows in training
   *   mode
   */
  override forward(x: Tensor): Tensor {
    const { training, numFeatures: cols, momentum, eps } = this
    const rows = checkRows(x, [cols], 'numFeatures')
    if (training && rows < 2) {
      throw fail('VALUE', 'x', 'have 2 rows or more in training mode', x.shape)
    }
    const scale = checkTensorOf('scale', this.scale, [cols])
    const shift = checkTensorOf('shift', this.shift, [cols])
    const runningMean = checkTensorOf('runningMean', this.runningMean, [cols])
    const runningVar = checkTensorOf('runningVar', this.runningVar, [cols])
    const y = Tensor.empty(x.shape)
    if (!training) {
      const running = [runningMean, null, runningVar]
      run('gpt_batchnorm_forward', [y, x, ...running, scale, shift, rows, cols, eps])
      // The statistics are constants: dx = dy · scale · rstd.
      const backward = (dy: Tensor) => {
        const rstd = temporary(() => runningVar.add(eps).sqrt().pow(-1))
        const dyRows = dy.reshape([-1, cols])
        const normalized = x.sub(runningMean).mul(rstd).reshape([-1, cols])
        return [dy.mul(scale.mul(rstd)), dyRows.mul(normalized).sum({ dim: 0 }), dyRows.sum({ dim: 0 })]
      }
      return record(y, [x, scale, shift], backward, [x, scale, runningMean, runningVar])
    }
    // The mean is mean + off: one float32 is too coarse where the deviation is small.
    const [mean, off, variance] = [0, 1, 2].map(() => Tensor.empty([cols]))
    const batch = [mean, off, variance]
    run('gpt_batchnorm_statistics', [...batch, x, rows, cols])
    run('gpt_batchnorm_forward', [y, x, ...batch, scale, shift, rows, cols, eps])
    run('gpt_batchnorm_update', [runningMean, runningVar, ...batch, rows, cols, momentum])
    runningMean.changed()
    runningVar.changed()
    return recordKernel(y, {
      inputs: [x, scale, shift],
      saved: [x, scale],
      owned: batch,
      backward: (dy, dx, dscale, dshift) =>
        run('gpt_batchnorm_backward', [dx, dscale, dshift, dy, x, ...batch, scale, rows, cols, eps]),
    })
  }
}
