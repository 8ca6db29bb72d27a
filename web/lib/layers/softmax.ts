import type { Tensor } from '../tensor/tensor.ts'
import { checkCount, checkNumber, checkOptions } from '../check.ts'
import { withClass } from '../errors.ts'
import { checkTensor } from '../tensor/check.ts'
import { type SoftmaxOptions, softmax } from '../tensor/softmax.ts'
import { Module } from './module.ts'

/** y = e^x / Σ e^x over an axis, as PyTorch's nn.Softmax. */
export class Softmax extends Module {
  /** @internal */
  static override readonly ownName: string = 'Softmax'

  readonly dim: number

  /**
   * @example new Softmax({ dim: 0 }).forward(gpt.zeros([2, 3])).at(0).toArray() // [0.5, 0.5, 0.5]
   */
  constructor(options?: SoftmaxOptions) {
    super()
    try {
      checkCount(arguments, 1)
      const { dim } = checkOptions(options, { dim: -1 })
      checkNumber('dim', dim, 'an integer', Number.isSafeInteger)
      this.dim = dim
    } catch (error) {
      throw withClass(error, new.target)
    }
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
    return softmax(checkTensor('x', x), { dim: this.dim })
  }
}
