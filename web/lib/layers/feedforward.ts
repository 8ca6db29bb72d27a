import { partsOf, run, SCRATCH } from '../runtime/runtime.ts'
import { GELU_KINDS } from '../tensor/gelu.ts'
import { temporary } from '../runtime/scope.ts'
import { records } from '../tensor/tape.ts'
import { checkRows, Tensor } from '../tensor/tensor.ts'
import { GELU } from './activations.ts'
import { Affine, Linear } from './linear.ts'
import { constructLayer, forwardLayers, isPlain, Module } from './module.ts'
import { checkConfig } from '../config.ts'

/**
 * The fewest rows per thread for which the fused kernel is cut by rows; each thread then reads all the weights. With
 * fewer, the layers run one by one, cut by outputs: on two threads GPT-2's 6 rows take 0.9 ms instead of 1.6, its 64
 * rows 6 ms either way.
 */
const ROWS_PER_THREAD = 32

export interface FeedForwardConfig {
  /** the number of features, the size of the last axis */
  embDim: number
  /** the number of hidden features; 4 · embDim by default */
  hiddenDim?: number
  /** the form of GELU; 'tanh' by default */
  approximate?: 'tanh' | 'none'
  /** whether the two Linear layers have biases; true by default */
  bias?: boolean
}

/**
 * The transformer's position-wise network, as the notebook's class: Linear(embDim, hiddenDim), GELU,
 * Linear(hiddenDim, embDim). In `gpt.noGrad` one kernel computes all three, and the hidden activations never
 * exist as a whole. Otherwise they do, because `backward` needs them. Layers may be replaced, such as the
 * activation: `ff.layers[1] = new gpt.ReLU()`. They then run one by one.
 */
export class FeedForward extends Module {
  /** @internal */
  static override readonly ownName: string = 'FeedForward'

  readonly embDim!: number
  readonly hiddenDim!: number
  layers!: [Linear, Module, Linear]

  /**
   * Draws both layers' parameters from the random generator, in PyTorch's order.
   *
   * @param config GPT_CONFIG_124M as it is, or your own. Names of other layers are ignored, unknown ones
   *   refused. `dropRate` is ignored, too: like the notebook's class this layer has no dropout;
   *   TransformerBlock has it, behind this layer
   * @example new FeedForward(GPT_CONFIG_124M).forward(gpt.rand([2, 3, 768])).shape // [2, 3, 768]
   */
  constructor(config: FeedForwardConfig) {
    super()
    constructLayer<FeedForward>(this, arguments, 1, () => {
      checkConfig(config, 'embDim', 'hiddenDim', 'approximate', 'bias')
      const { embDim, hiddenDim = 4 * embDim, approximate, bias = true } = config
      const layers = temporary((): FeedForward['layers'] => [
        new Linear(embDim, hiddenDim, { bias }),
        new GELU({ approximate }),
        new Linear(hiddenDim, embDim, { bias }),
      ])
      return { embDim, hiddenDim, layers }
    })
  }

  /**
   * @param x [..., embDim], not modified
   * @returns a tensor of x's shape; within 1e-5 of float64 at GPT-2's size (absolute below 1, relative above)
   * @throws {GptLayersError} SHAPE when the last axis is not embDim
   */
  override forward(x: Tensor): Tensor {
    const args = this.#fusedArguments(x, checkRows(x, [this.embDim], 'embDim'))
    if (args === null) return forwardLayers(this.layers, x)
    const y = Tensor.empty(x.shape)
    run('gpt_feedforward_forward', [y, SCRATCH, x, ...args])
    return y
  }

  /**
   * The arguments of the fused kernel where it computes what the layers compute. It gives the same bits.
   *
   * @returns null where the layers run one by one: where `backward` will need the hidden activations, with an
   *   int8 weight, where the user has replaced a layer or listens to one, and where that is faster
   */
  #fusedArguments(x: Tensor, rows: number): (Tensor | number | null)[] | null {
    const { embDim, layers } = this
    if (!Array.isArray(layers)) return null
    const [first, gelu, second] = layers
    const arePlain =
      layers.length === 3 && isPlain(first, Linear) && isPlain(gelu, GELU) && isPlain(second, Linear)
    if (!arePlain || first.int8Weight || second.int8Weight) return null
    if (first.inFeatures !== embDim || second.outFeatures !== embDim) return null
    if (first.outFeatures !== second.inFeatures) return null
    if (records(x, first.weight, first.bias, second.weight, second.bias)) return null
    const hiddenDim = first.outFeatures
    const parts = partsOf('gpt_feedforward_forward', rows, embDim, hiddenDim)
    if (parts > 1 && rows < ROWS_PER_THREAD * parts) return null
    const { weight: weight1, bias: bias1 } = Affine.parametersOf(first)
    const { weight: weight2, bias: bias2 } = Affine.parametersOf(second)
    return [weight1, bias1, weight2, bias2, rows, embDim, hiddenDim, GELU_KINDS[gelu.approximate]]
  }
}
