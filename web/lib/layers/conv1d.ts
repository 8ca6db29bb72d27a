import * as random from '../runtime/random.ts'
import { type AffineOptions, Affine } from './affine.ts'

/** The standard deviation of GPT-2's initial weights. */
const DEVIATION = 0.02

/**
 * y = x · weight + bias, GPT-2's linear layer, as transformers' Conv1D: x [..., nx], weight [nx, nf]. It is a
 * Linear whose weight is stored transposed and whose sizes come in the other order.
 */
export class Conv1D extends Affine {
  /** @internal */
  static override readonly ownName: string = 'Conv1D'

  readonly nf: number
  readonly nx: number

  /**
   * Draws the weight from N(0, 0.02) from the random generator, as PyTorch's nn.init.normal_. The bias is
   * zeros.
   *
   * @param nf features that come out
   * @param nx features that go in
   * @example new Conv1D(6, 5).forward(gpt.randn([2, 5])).shape // [2, 6]
   */
  constructor(nf: number, nx: number, options?: AffineOptions) {
    super(
      arguments,
      {
        inputs: nx,
        outputs: nf,
        inputsName: 'nx',
        sizes: { nf, nx },
        weightShape: [nx, nf],
        isTransposed: true,
        forward: 'gpt_conv1d_forward',
        backward: 'gpt_conv1d_backward',
      },
      options,
      ({ weight, bias }) => {
        random.normal(weight, DEVIATION)
        bias?.data.fill(0)
      },
    )
    this.nf = nf
    this.nx = nx
  }

  override extraRepr(): string {
    return `nf=${this.nf}, nx=${this.nx}`
  }
}
