// The layers without parameters that compute an operation: ReLU, SiLU, Sigmoid, GELU and Softmax.

import { checkOptions, number } from '../check.ts'
import { type GELUOptions, GELU_OPTIONS, geluOf } from '../tensor/gelu.ts'
import { computeOf } from '../tensor/operation.ts'
import { relu, sigmoid, silu } from '../tensor/operations.ts'
import { type SoftmaxOptions, softmax } from '../tensor/softmax.ts'
import { type Tensor, checkTensor } from '../tensor/tensor.ts'
import { constructLayer, Module } from './module.ts'

/** y = max(0, x), as PyTorch's nn.ReLU. Its gradient at 0 is 0. */
export class ReLU extends Module {
  /** @internal */
  static override readonly ownName: string = 'ReLU'

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape
   * @example new ReLU().forward(gpt.tensor([-1, 2])).toArray() // [0, 2]
   */
  override forward(x: Tensor): Tensor {
    return computeOf(relu)(checkTensor('x', x))
  }
}

/** y = x · σ(x), as PyTorch's nn.SiLU (Elfwing, Uchibe, Doya 2017, arXiv:1702.03118). */
export class SiLU extends Module {
  /** @internal */
  static override readonly ownName: string = 'SiLU'

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape
   * @example String(new SiLU().forward(gpt.tensor([1]))) // 'tensor([0.7311])'
   */
  override forward(x: Tensor): Tensor {
    return computeOf(silu)(checkTensor('x', x))
  }
}

/** y = σ(x) = 1 / (1 + e^(-x)), as PyTorch's nn.Sigmoid. */
export class Sigmoid extends Module {
  /** @internal */
  static override readonly ownName: string = 'Sigmoid'

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape
   * @example new Sigmoid().forward(gpt.tensor([0])).toArray() // [0.5]
   */
  override forward(x: Tensor): Tensor {
    return computeOf(sigmoid)(checkTensor('x', x))
  }
}

/**
 * y = x · Φ(x), where Φ is the cumulative distribution function of N(0, 1) (Hendrycks, Gimpel 2016,
 * arXiv:1606.08415), as PyTorch's nn.GELU and the notebook's class.
 */
export class GELU extends Module {
  /** @internal */
  static override readonly ownName: string = 'GELU'

  readonly approximate!: 'tanh' | 'none'

  constructor(options?: GELUOptions) {
    super()
    const defaults: Required<GELUOptions> = { approximate: 'tanh' }
    constructLayer<GELU>(this, arguments, 1, () => checkOptions(options, defaults, GELU_OPTIONS))
  }

  override extraRepr(): string {
    return `approximate='${this.approximate}'`
  }

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape; within 1e-6 of float64 (absolute below 1, relative above). So is dy/dx
   * @example String(new GELU().forward(gpt.tensor([1]))) // 'tensor([0.8412])'
   */
  override forward(x: Tensor): Tensor {
    return geluOf(checkTensor('x', x), this.approximate)
  }
}

/** y = e^x / Σ e^x over an axis, as PyTorch's nn.Softmax. */
export class Softmax extends Module {
  /** @internal */
  static override readonly ownName: string = 'Softmax'

  readonly dim!: number

  /**
   * @example new Softmax({ dim: 0 }).forward(gpt.zeros([2, 3])).at(0).toArray() // [0.5, 0.5, 0.5]
   */
  constructor(options?: SoftmaxOptions) {
    super()
    const checks = { dim: number('an integer', Number.isSafeInteger) }
    constructLayer<Softmax>(this, arguments, 1, () => checkOptions(options, { dim: -1 }, checks))
  }

  override extraRepr(): string {
    return `dim=${this.dim}`
  }

  /**
   * @param x [..., n], not modified
   * @returns a tensor of x's shape; within 1e-6 of float64. Its gradient, dx = y · (dy - Σ dy·y), reads it:
   *   do not write into it before `backward`
   * @throws {GptLayersError} VALUE where x has no axis `dim`
   * @example new Softmax().forward(gpt.tensor([0, 0, -Infinity])).toArray() // [0.5, 0.5, 0]
   */
  override forward(x: Tensor): Tensor {
    return computeOf(softmax)(checkTensor('x', x), { dim: this.dim })
  }
}
