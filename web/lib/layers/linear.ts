import type { Tensor } from '../tensor/tensor.ts'
import { named } from '../check.ts'
import { fail } from '../errors.ts'
import * as random from '../runtime/random.ts'
import { checkOptional, checkRows, checkTensor } from '../tensor/check.ts'
import { type AffineOptions, Affine, affine } from './affine.ts'

const KERNELS = { forward: 'gpt_linear_forward', backward: 'gpt_linear_backward' } as const

/**
 * y = x · weightᵀ + bias, as torch's F.linear: the layer Linear with parameters of your own.
 *
 * @param x [..., in], not modified
 * @param weight [out, in]
 * @param bias [out]; none by default
 * @returns [..., out]
 * @throws {GptLayersError} SHAPE where the sizes do not fit
 * @example gpt.linear(gpt.tensor([1, 2]), gpt.tensor([[3, 4]]), gpt.tensor([5])).toArray() // [16]
 */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor | null): Tensor {
  return named('linear', arguments, 3, () => {
    const { shape } = checkTensor('weight', weight)
    if (shape.length !== 2) throw fail('SHAPE', 'weight', 'have shape [out, in]', shape)
    const [outputs, inputs] = shape
    checkRows(x, inputs, "the weight's in")
    return affine(x, weight, checkOptional('bias', bias ?? null, [outputs]), { inputs, outputs, ...KERNELS })
  })
}

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
        ...KERNELS,
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
