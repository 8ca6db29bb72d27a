import * as random from '../runtime/random.ts'
import { type AffineOptions, Affine } from './affine.ts'

/** y = x · weightᵀ + bias, as PyTorch's nn.Linear: x [..., inFeatures], weight [outFeatures, inFeatures]. */
export class Linear extends Affine {
  /** @internal */
  static override readonly ownName: string = 'Linear'

  readonly inFeatures: number
  readonly outFeatures: number

  /**
   * Draws the weight, then the bias, from the random generator as PyTorch does: both from
   * U(-1/√inFeatures, 1/√inFeatures).
   *
   * @example new Linear(5, 6).forward(gpt.randn([2, 5])).shape // [2, 6]
   */
  constructor(inFeatures: number, outFeatures: number, options?: AffineOptions) {
    super(
      arguments,
      {
        inputs: inFeatures,
        outputs: outFeatures,
        inputsName: 'inFeatures',
        sizes: { inFeatures, outFeatures },
        weightShape: [outFeatures, inFeatures],
        isTransposed: false,
        forward: 'gpt_linear_forward',
        backward: 'gpt_linear_backward',
      },
      options,
      ({ weight, bias }) => random.linear(weight, bias, inFeatures, outFeatures),
    )
    this.inFeatures = inFeatures
    this.outFeatures = outFeatures
  }

  override extraRepr(): string {
    const bias = this.bias ? 'True' : 'False'
    return `in_features=${this.inFeatures}, out_features=${this.outFeatures}, bias=${bias}`
  }
}
