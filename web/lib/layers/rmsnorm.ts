import { checkCount, checkNonNegativeFloat32, checkOptions, checkSizes, named } from '../check.ts'
import { withClass } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { checkOptional, checkRowsOf, checkTensorOf } from '../tensor/check.ts'
import { ones } from '../tensor/create.ts'
import { pythonNumber } from '../tensor/pyformat.ts'
import { temporary } from '../runtime/scope.ts'
import { sizeOf } from '../tensor/shape.ts'
import { recordKernel, records } from '../tensor/tape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

export interface RMSNormOptions {
  /** added to the mean square; 1e-5 by default */
  eps?: number
}

/**
 * y = weight · x / √(mean(x²) + eps) over the last axes, as torch's F.rms_norm: the layer RMSNorm with a
 * parameter of your own.
 *
 * @param x [..., ...shape], not modified
 * @param shape the sizes of the axes that are normalized together, or the size of the last one
 * @param weight of this shape; ones by default
 * @returns a tensor of x's shape, as precise as the layer's
 * @throws {GptLayersError} SHAPE when the last axes are not `shape`
 * @example gpt.rmsNorm(gpt.tensor([3, -3]), [2], null, { eps: 0 }).toArray() // [1, -1]
 */
export const rmsNorm = /* @__PURE__ */ named(
  'rmsNorm',
  (
    x: Tensor,
    shape: number | readonly number[],
    weight?: Tensor | null,
    options?: RMSNormOptions,
  ): Tensor => {
    const sizes = checkSizes('shape', shape)
    const { eps } = checkOptions(options, { eps: 1e-5 }, { eps: checkNonNegativeFloat32 })
    const rows = checkRowsOf(x, sizes, 'shape')
    const scale = checkOptional('weight', weight ?? null, sizes)
    return temporary(() => normalize(x, rows, scale ?? ones(sizes), eps))
  },
)

/**
 * @param scale of the shape of the last axes, over which x is normalized
 * @param rows how many tensors of this shape x has
 */
function normalize(x: Tensor, rows: number, scale: Tensor, eps: number): Tensor {
  const cols = scale.size
  const y = Tensor.empty(x.shape)
  const rstd = records(x, scale) ? Tensor.empty([rows]) : null
  run('gpt_rmsnorm_forward', [y, rstd, x, scale, rows, cols, eps], 0.3 * x.size)
  return recordKernel(y, {
    inputs: [x, scale],
    saved: [x, scale],
    owned: [rstd],
    backward: (dy, dx, dscale) =>
      run('gpt_rmsnorm_backward', [dx, dscale, dy, x, rstd, scale, rows, cols], 0.7 * x.size),
  })
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
      const { eps } = checkOptions(options, { eps: 1e-5 }, { eps: checkNonNegativeFloat32 })
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
    const { normalizedShape, eps } = this
    const rows = checkRowsOf(x, normalizedShape, 'embDim')
    return normalize(x, rows, checkTensorOf('scale', this.scale, normalizedShape), eps)
  }
}
