// LayerNorm and RMSNorm, each with its function.

import { checkNonNegativeFloat32, checkOptions, named } from '../check.ts'
import { run } from '../runtime/runtime.ts'
import { ones } from '../tensor/create.ts'
import { pythonNumber } from '../tensor/pyformat.ts'
import { temporary } from '../runtime/scope.ts'
import { checkSizes, sizeOf } from '../tensor/shape.ts'
import { recordKernel, records } from '../tensor/tape.ts'
import { checkOptional, checkRows, checkTensorOf, Tensor } from '../tensor/tensor.ts'
import { constructLayer, Module } from './module.ts'

const CHECKS = { eps: checkNonNegativeFloat32 }

export interface LayerNormOptions {
  /** added to the variance; 1e-5 by default */
  eps?: number
  /** whether there is a shift, which PyTorch calls bias; true by default */
  bias?: boolean
  /** whether there are a scale and a shift; true by default. With false, x is only normalized */
  elementwiseAffine?: boolean
}

export interface RMSNormOptions {
  /** added to the mean square; 1e-5 by default */
  eps?: number
}

/**
 * y = weight · (x - mean) / √(var + eps) + bias over the last axes, with the biased variance, as torch's
 * F.layer_norm: the layer LayerNorm with parameters of your own.
 *
 * @param x [..., ...shape], not modified
 * @param shape the sizes of the axes that are normalized together, or the size of the last one
 * @param weight of this shape; ones by default
 * @param bias of this shape; zeros by default
 * @param options eps: added to the variance, 1e-5 by default
 * @returns a tensor of x's shape, as precise as the layer's
 * @throws {GptLayersError} SHAPE when the last axes are not `shape`
 * @example gpt.layerNorm(gpt.tensor([1, 3]), [2], null, null, { eps: 0 }).toArray() // [-1, 1]
 */
export const layerNorm = /* @__PURE__ */ named(
  'layerNorm',
  (
    x: Tensor,
    shape: number | readonly number[],
    weight?: Tensor | null,
    bias?: Tensor | null,
    options?: Pick<LayerNormOptions, 'eps'>,
  ): Tensor => {
    const sizes = checkSizes('shape', shape)
    const { eps } = checkOptions(options, { eps: 1e-5 }, CHECKS)
    const rows = checkRows(x, sizes, 'shape')
    const scale = checkOptional('weight', weight ?? null, sizes)
    const shift = checkOptional('bias', bias ?? null, sizes)
    return computeLayerNorm(x, rows, sizes, scale, shift, eps)
  },
)

/**
 * @param x rows tensors of this shape
 * @param scale of this shape; null for ones
 * @param shift of this shape; null for zeros
 */
function computeLayerNorm(
  x: Tensor,
  rows: number,
  shape: readonly number[],
  scale: Tensor | null,
  shift: Tensor | null,
  eps: number,
): Tensor {
  if (scale === null) return temporary(() => computeLayerNorm(x, rows, shape, ones(shape), shift, eps))
  const cols = scale.size
  const y = Tensor.empty(x.shape)
  const mean = records(x, scale, shift) ? Tensor.empty([2, rows]) : null // and rstd after it
  const rstd = mean && mean.pointerTo(rows)
  run('gpt_layernorm_forward', [y, mean, rstd, x, scale, shift, rows, cols, eps])
  return recordKernel(y, {
    inputs: [x, scale, shift],
    saved: [x, scale],
    owned: [mean],
    backward: (dy, dx, dscale, dshift) => {
      const read = [dy, x, mean, rstd, scale]
      run('gpt_layernorm_backward', [dx, dscale, dshift, ...read, rows, cols])
    },
  })
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
    const { eps } = checkOptions(options, { eps: 1e-5 }, CHECKS)
    const rows = checkRows(x, sizes, 'shape')
    const scale = checkOptional('weight', weight ?? null, sizes)
    return temporary(() => computeRMSNorm(x, rows, scale ?? ones(sizes), eps))
  },
)

/** @param x rows tensors of the shape of scale */
function computeRMSNorm(x: Tensor, rows: number, scale: Tensor, eps: number): Tensor {
  const cols = scale.size
  const y = Tensor.empty(x.shape)
  const rstd = records(x, scale) ? Tensor.empty([rows]) : null
  run('gpt_rmsnorm_forward', [y, rstd, x, scale, rows, cols, eps])
  return recordKernel(y, {
    inputs: [x, scale],
    saved: [x, scale],
    owned: [rstd],
    backward: (dy, dx, dscale) => run('gpt_rmsnorm_backward', [dx, dscale, dy, x, rstd, scale, rows, cols]),
  })
}

/** The base of LayerNorm and RMSNorm. */
export class Norm extends Module {
  /** @internal */
  static override readonly ownName: string = 'Norm'

  /** how many elements are normalized together */
  readonly embDim!: number
  /** the sizes of the axes that are normalized: [embDim], or the shape that was given */
  readonly normalizedShape!: readonly number[]
  readonly eps!: number
  /** of shape normalizedShape, initially ones; null with `elementwiseAffine: false` */
  scale!: Tensor | null

  override extraRepr(): string {
    const { normalizedShape: shape, eps, scale } = this
    const sizes = shape.length === 1 ? shape[0] : `(${shape.join(', ')})`
    return `${sizes}, eps=${pythonNumber(eps)}${scale === null ? ', elementwise_affine=False' : ''}`
  }
}

/**
 * Layer normalization over the last axis (Ba, Kiros, Hinton 2016, arXiv:1607.06450), as the notebook's class:
 * y = scale · (x - mean) / √(var + eps) + shift, with the biased variance (divided by embDim). PyTorch's
 * nn.LayerNorm computes the same and calls scale and shift weight and bias; `loadStateDict` takes those
 * names, too.
 */
export class LayerNorm extends Norm {
  /** @internal */
  static override readonly ownName: string = 'LayerNorm'

  /** of shape normalizedShape, initially zeros; null with `bias: false` or `elementwiseAffine: false` */
  shift!: Tensor | null

  /**
   * @param embDim the size of the last axis, or the sizes of the last axes: PyTorch's normalized_shape
   * @example new LayerNorm(5).forward(gpt.randn([2, 5])).shape // [2, 5]
   * @example new LayerNorm([3, 4]).forward(gpt.randn([2, 3, 4])).shape // [2, 3, 4]
   */
  constructor(embDim: number | readonly number[], options?: LayerNormOptions) {
    super()
    const body = () => {
      const shape = checkSizes('embDim', embDim)
      const defaults = { eps: 1e-5, bias: true, elementwiseAffine: true }
      const { eps, bias, elementwiseAffine } = checkOptions(options, defaults, CHECKS)
      const scale = elementwiseAffine ? Tensor.parameter(shape, ({ data }) => data.fill(1)) : null
      const shift = elementwiseAffine && bias ? Tensor.parameter(shape, ({ data }) => data.fill(0)) : null
      return { embDim: sizeOf(shape), normalizedShape: shape, eps, scale, shift }
    }
    constructLayer<LayerNorm>(this, arguments, 2, body, 'eps elementwiseAffine')
  }

  /**
   * @param x [..., ...normalizedShape], not modified
   * @returns a tensor of x's shape; within 5e-6 of float64 (absolute below 1, relative above). The gradient
   *   is within 2e-5 of float64 relative to the largest. Both hold even where the mean is 1e5 standard
   *   deviations, and for all finite numbers: PyTorch gives 0 or NaN from about 1e19 on
   * @throws {GptLayersError} SHAPE when the last axes are not normalizedShape
   */
  override forward(x: Tensor): Tensor {
    const { normalizedShape, eps } = this
    const rows = checkRows(x, normalizedShape, 'embDim')
    const scale = checkOptional('scale', this.scale, normalizedShape)
    const shift = checkOptional('shift', this.shift, normalizedShape)
    return computeLayerNorm(x, rows, normalizedShape, scale, shift, eps)
  }
}

/**
 * Root mean square normalization over the last axis (Zhang, Sennrich 2019, arXiv:1910.07467):
 * y = scale · x / √(mean(x²) + eps). PyTorch's nn.RMSNorm computes the same and calls scale weight.
 */
export class RMSNorm extends Norm {
  /** @internal */
  static override readonly ownName: string = 'RMSNorm'

  /** of shape normalizedShape, initially ones */
  declare scale: Tensor

  /**
   * @param embDim the size of the last axis, or the sizes of the last axes: PyTorch's normalized_shape
   * @example new RMSNorm(5).forward(gpt.randn([2, 5])).shape // [2, 5]
   */
  constructor(embDim: number | readonly number[], options?: RMSNormOptions) {
    super()
    constructLayer<RMSNorm>(this, arguments, 2, () => {
      const shape = checkSizes('embDim', embDim)
      const { eps } = checkOptions(options, { eps: 1e-5 }, CHECKS)
      const scale = Tensor.parameter(shape, ({ data }) => data.fill(1))
      return { embDim: sizeOf(shape), normalizedShape: shape, eps, scale }
    })
  }

  /**
   * @param x [..., ...normalizedShape], not modified
   * @returns a tensor of x's shape; within 1e-6 of float64 (absolute below 1, relative above), for all
   *   finite numbers: PyTorch gives 0 from about 1e19 on
   * @throws {GptLayersError} SHAPE when the last axes are not normalizedShape
   */
  override forward(x: Tensor): Tensor {
    const { normalizedShape, eps } = this
    const rows = checkRows(x, normalizedShape, 'embDim')
    return computeRMSNorm(x, rows, checkTensorOf('scale', this.scale, normalizedShape), eps)
  }
}
