import type { Tensor } from '../tensor/tensor.ts'
import { checkChoice, checkCount, checkOptions } from '../check.ts'
import { withClass } from '../errors.ts'
import { checkTensor } from '../tensor/check.ts'
import { type GELUOptions, gelu, GELU_KINDS } from '../tensor/elementwise.ts'
import { Module } from './module.ts'

/**
 * y = x · Φ(x), where Φ is the cumulative distribution function of N(0, 1) (Hendrycks, Gimpel 2016,
 * arXiv:1606.08415), as PyTorch's nn.GELU and the notebook's class.
 */
export class GELU extends Module {
  /** @internal */
  static override readonly ownName: string = 'GELU'

  readonly approximate: 'tanh' | 'none'

  constructor(options?: GELUOptions) {
    super()
    try {
      checkCount(arguments, 1)
      const { approximate } = checkOptions(options, { approximate: 'tanh' })
      checkChoice('approximate', approximate, ['tanh', 'none'])
      this.approximate = approximate
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  override extraRepr(): string {
    return `approximate='${this.approximate}'`
  }

  /** `approximate` as the kernels take it. @internal */
  get kind(): number {
    return GELU_KINDS[this.approximate]
  }

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape; within 1e-6 of float64 (absolute below 1, relative above). So is dy/dx
   * @example String(new GELU().forward(gpt.tensor([1]))) // 'tensor([0.8412])'
   */
  override forward(x: Tensor): Tensor {
    return gelu(checkTensor('x', x), this.approximate)
  }
}
