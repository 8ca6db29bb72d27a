import { checkCount, checkNonNegativeFloat32, checkOptions, checkSizes } from '../check.ts'
import { withClass } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { checkRowsOf, checkTensorOf } from '../tensor/check.ts'
import { pythonNumber } from '../tensor/pyformat.ts'
import { sizeOf } from '../tensor/shape.ts'
import { recordKernel, records } from '../tensor/tape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

export interface RMSNormOptions {
  /** added to the mean square; 1e-5 by default */
  eps?: number
}

/**
 * Root mean square normalization over the last axis (Zhang, Sennrich 2019, arXiv:1910.07467):
 * y = scale · x / √(mean(x²) + eps). PyTorch's nn.RMSNorm computes the same and calls scale weight.
 */
export class RMSNorm extends Module {
  /** @internal */
  static override readonly ownName: string = 'RMSNorm'

  /** how many elements are normalized together */
  readonly embDim: number
  /** the sizes of the axes that are normalized: [embDim], or the shape that was given */
  readonly normalizedShape: readonly number[]
  readonly eps: number
  /** of shape normalizedShape, initially ones */
  scale: Tensor

  /**
   * @param embDim the size of the last axis, or the sizes of the last axes: PyTorch's normalized_shape
   * @example new RMSNorm(5).forward(gpt.randn([2, 5])).shape // [2, 5]
   */
  constructor(embDim: number | readonly number[], options?: RMSNormOptions) {
    super()
    try {
      checkCount(arguments, 2)
      const shape = checkSizes('embDim', embDim)
      const { eps } = checkOptions(options, { eps: 1e-5 })
      checkNonNegativeFloat32('eps', eps)
      this.embDim = sizeOf(shape)
      this.normalizedShape = shape
      this.eps = eps
      this.scale = Tensor.parameter(shape, ({ data }) => data.fill(1))
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  override extraRepr(): string {
    const { normalizedShape: shape } = this
    return `${shape.length === 1 ? shape[0] : `(${shape.join(', ')})`}, eps=${pythonNumber(this.eps)}`
  }

  /**
   * @param x [..., ...normalizedShape], not modified
   * @returns a tensor of x's shape; within 1e-6 of float64 (absolute below 1, relative above), for all
   *   finite numbers: PyTorch gives 0 from about 1e19 on
   * @throws {GptLayersError} SHAPE when the last axes are not normalizedShape
   */
  override forward(x: Tensor): Tensor {
    const { embDim, normalizedShape, eps } = this
    const rows = checkRowsOf(x, normalizedShape, 'embDim')
    const scale = checkTensorOf('scale', this.scale, normalizedShape)
    const y = Tensor.empty(x.shape)
    const rstd = records(x, scale) ? Tensor.empty([rows]) : null
    run('gpt_rmsnorm_forward', [y, rstd, x, scale, rows, embDim, eps])
    return recordKernel(y, {
      inputs: [x, scale],
      saved: [x, rstd, scale],
      backward: (dy, dx, dscale) =>
        run('gpt_rmsnorm_backward', [dx, dscale, dy, x, rstd, scale, rows, embDim]),
    })
  }
}
