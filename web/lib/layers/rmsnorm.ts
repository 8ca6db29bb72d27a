import type { Runtime } from '../runtime/runtime.ts'
import { checkOptions, checkNonNegativeFloat32, checkSize } from '../check.ts'
import { recordKernel, records } from '../runtime/tape.ts'
import { checkRows, checkTensorOf } from '../tensor/check.ts'
import { pythonNumber } from '../tensor/pyformat.ts'
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
  /** PyTorch's name. @internal */
  static override aliases = { weight: 'scale' }

  readonly embDim: number
  readonly eps: number
  /** [embDim], initially ones */
  scale: Tensor

  /**
   * @param embDim the size of the last axis
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new RMSNorm(5).forward(gpt.randn([2, 5])).shape // [2, 5]
   */
  constructor(runtime: Runtime, embDim: number, options?: RMSNormOptions) {
    super(runtime)
    checkSize('embDim', embDim)
    const { eps } = checkOptions(options, { eps: 1e-5 })
    checkNonNegativeFloat32('eps', eps)
    this.embDim = embDim
    this.eps = eps
    this.scale = Tensor.parameter(runtime, [embDim], ({ data }) => data.fill(1))
  }

  override extraRepr(): string {
    return `${this.embDim}, eps=${pythonNumber(this.eps)}`
  }

  /**
   * @param x [..., embDim], not modified
   * @returns a tensor of x's shape; within 1e-6 of float64 (absolute below 1, relative above), for all
   *   finite numbers: PyTorch gives 0 from about 1e19 on
   * @throws {GptLayersError} SHAPE when the last axis is not embDim; TYPE, DISPOSED, MEMORY
   */
  override forward(x: Tensor): Tensor {
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
