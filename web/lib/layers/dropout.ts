import { checkOptions, checkProbability, named } from '../check.ts'
import * as random from '../runtime/random.ts'
import { run } from '../runtime/runtime.ts'
import { aliasOf } from '../tensor/reshape.ts'
import { recordKernel } from '../tensor/tape.ts'
import { checkTensor, Tensor } from '../tensor/tensor.ts'
import { constructLayer, Module } from './module.ts'

export interface DropoutOptions {
  /** the probability, from 0 to 1; 0.5 by default */
  p?: number
  /** false: y is x; true by default */
  training?: boolean
}

/**
 * Each element is 0 with probability p, otherwise divided by 1 - p, as torch's F.dropout: the layer Dropout
 * as a function. The masks are those of the layer. They are not PyTorch's.
 *
 * @param x any shape, not modified
 * @returns a tensor of x's shape; where nothing is dropped, on x's memory
 * @example gpt.dropout(gpt.tensor([1, 2]), { p: 0.1, training: false }).toArray() // [1, 2]
 */
export const dropout = /* @__PURE__ */ named(
  'dropout',
  (x: Tensor, options?: DropoutOptions): Tensor => {
    const defaults = { p: 0.5, training: true }
    const { p, training } = checkOptions<Required<DropoutOptions>>(options, defaults, { p: checkProbability })
    checkTensor('x', x)
    return drop(x, training ? p : 0)
  },
  'p training',
)

export function drop(x: Tensor, p: number): Tensor {
  if (p === 0) return aliasOf(x)
  const y = Tensor.empty(x.shape)
  const seed = random.word()
  run('gpt_dropout_forward', [y, x, x.size, seed, p])
  return recordKernel(y, {
    inputs: [x],
    saved: [],
    // The same seed gives the same mask.
    backward: (dy, dx) => run('gpt_dropout_forward', [dx, dy, dy.size, seed, p]),
  })
}

/**
 * Dropout (Srivastava et al. 2014, JMLR 15), as PyTorch's nn.Dropout: in training mode each element is 0 with
 * probability p, otherwise divided by 1 - p.
 *
 * `manualSeed` makes the masks reproducible, on any number of threads. They differ from PyTorch's: PyTorch
 * draws one random word per element, this layer one per call.
 */
export class Dropout extends Module {
  /** @internal */
  static override readonly ownName: string = 'Dropout'

  readonly p!: number

  /**
   * @param p the probability, from 0 to 1; 0.5 by default
   * @example new Dropout(0.1).forward(gpt.ones([2, 5])).shape // [2, 5]
   */
  constructor(p: number = 0.5) {
    super()
    constructLayer<Dropout>(this, arguments, 1, () => {
      checkProbability('p', p)
      return { p }
    })
  }

  override extraRepr(): string {
    return `p=${this.p}`
  }

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape. In evaluation mode, and where p is 0, it shares x's memory, as
   *   `x.reshape(x.shape)`
   */
  override forward(x: Tensor): Tensor {
    return drop(checkTensor('x', x), this.training ? this.p : 0)
  }
}
