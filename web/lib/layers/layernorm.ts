import { checkBoolean, checkCount, checkNonNegativeFloat32, checkOptions, checkSizes } from '../check.ts'
import { withClass } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { checkRowsOf, checkTensorOf } from '../tensor/check.ts'
import { pythonNumber } from '../tensor/pyformat.ts'
import { sizeOf } from '../tensor/shape.ts'
import { recordKernel, records } from '../tensor/tape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

export interface LayerNormOptions {
  /** added to the variance; 1e-5 by default */
  eps?: number
  /** whether there is a shift, which PyTorch calls bias; true by default */
  bias?: boolean
}

/**
 * Layer normalization over the last axis (Ba, Kiros, Hinton 2016, arXiv:1607.06450), as the notebook's class:
 * y = scale · (x - mean) / √(var + eps) + shift, with the biased variance (divided by embDim). PyTorch's
 * nn.LayerNorm computes the same and calls scale and shift weight and bias; `loadStateDict` takes those
 * names, too.
 */
export class LayerNorm extends Module {
  /** @internal */
  static override readonly ownName: string = 'LayerNorm'

  /** how many elements are normalized together */
  readonly embDim: number
  /** the sizes of the axes that are normalized: [embDim], or the shape that was given */
  readonly normalizedShape: readonly number[]
  readonly eps: number
  /** of shape normalizedShape, initially ones */
  scale: Tensor
  /** of shape normalizedShape, initially zeros; null with `bias: false` */
  shift: Tensor | null

  /**
   * @param embDim the size of the last axis, or the sizes of the last axes: PyTorch's normalized_shape
   * @example new LayerNorm(5).forward(gpt.randn([2, 5])).shape // [2, 5]
   * @example new LayerNorm([3, 4]).forward(gpt.randn([2, 3, 4])).shape // [2, 3, 4]
   */
  constructor(embDim: number | readonly number[], options?: LayerNormOptions) {
    super()
    try {
      checkCount(arguments, 2)
      const shape = checkSizes('embDim', embDim)
      const { eps, bias } = checkOptions(options, { eps: 1e-5, bias: true })
      checkNonNegativeFloat32('eps', eps)
      checkBoolean('bias', bias)
      this.embDim = sizeOf(shape)
      this.normalizedShape = shape
      this.eps = eps
      this.scale = Tensor.parameter(shape, ({ data }) => data.fill(1))
      this.shift = bias ? Tensor.parameter(shape, ({ data }) => data.fill(0)) : null
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
   * @returns a tensor of x's shape; within 5e-6 of float64 (absolute below 1, relative above). The gradient
   *   is within 2e-5 of float64 relative to the largest. Both hold even where the mean is 1e5 standard
   *   deviations, and for all finite numbers: PyTorch gives 0 or NaN from about 1e19 on
   * @throws {GptLayersError} SHAPE when the last axes are not normalizedShape
   */
  override forward(x: Tensor): Tensor {
    const { embDim, normalizedShape, eps } = this
    const rows = checkRowsOf(x, normalizedShape, 'embDim')
    const scale = checkTensorOf('scale', this.scale, normalizedShape)
    const shift = this.shift === null ? null : checkTensorOf('shift', this.shift, normalizedShape)
    const y = Tensor.empty(x.shape)
    const keeps = records(x, scale, shift)
    const mean = keeps ? Tensor.empty([rows]) : null
    const rstd = keeps ? Tensor.empty([rows]) : null
    run('gpt_layernorm_forward', [y, mean, rstd, x, scale, shift, rows, embDim, eps])
    return recordKernel(y, {
      inputs: [x, scale, shift],
      saved: [x, mean, rstd, scale],
      backward: (dy, dx, dscale, dshift) => {
        const read = [dy, x, mean, rstd, scale]
        run('gpt_layernorm_backward', [dx, dscale, dshift, ...read, rows, embDim])
      },
    })
  }
}
