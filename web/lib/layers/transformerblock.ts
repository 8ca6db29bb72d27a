import { type Tensor, checkTensor } from '../tensor/tensor.ts'
import { temporary } from '../runtime/scope.ts'
import { type AttentionConfig, Attention } from './attention.ts'
import { Dropout } from './dropout.ts'
import { type FeedForwardConfig, FeedForward } from './feedforward.ts'
import { type Context, constructLayer, forwardPart, Module } from './module.ts'
import { LayerNorm } from './norms.ts'
import { checkConfig } from '../config.ts'

export interface TransformerBlockConfig extends AttentionConfig, FeedForwardConfig {
  /** whether the layers have biases, and the layer norms a shift; true by default. nanoGPT trains with false */
  bias?: boolean
  /** the eps of the layer norms; 1e-5 by default */
  layerNormEpsilon?: number
}

/** A layer norm with the width, eps and bias of a configuration. */
export const newNorm = ({ embDim, layerNormEpsilon = 1e-5, bias = true }: TransformerBlockConfig) =>
  new LayerNorm(embDim, { eps: layerNormEpsilon, bias })

/**
 * One block of GPT-2: attention, then the feed-forward network, each on normalized input and with a shortcut
 * around it:
 *
 *     h = x + attn(norm1(x))
 *     y = h + dropout(ff(norm2(h)))
 *
 * attn has its own dropout, where GPT-2 has it.
 */
export class TransformerBlock extends Module {
  /** @internal */
  static override readonly ownName: string = 'TransformerBlock'

  attn!: Attention
  ff!: FeedForward
  /** Before attn. */
  norm1!: Module
  /** Before ff. */
  norm2!: Module
  /** After ff. */
  dropout!: Module

  /**
   * Draws the parameters of attn, then those of ff, from the random generator.
   *
   * @param config GPT_CONFIG_124M as it is, or your own. dropRate is the probability of every dropout. Names
   *   of other layers are ignored, unknown ones refused
   * @example new TransformerBlock(GPT_CONFIG_124M).forward(gpt.rand([2, 3, 768])).shape // [2, 3, 768]
   */
  constructor(config: TransformerBlockConfig) {
    super()
    constructLayer<TransformerBlock>(this, arguments, 1, () => {
      checkConfig(config, 'layerNormEpsilon')
      return temporary(() => ({
        attn: new Attention(config),
        ff: new FeedForward(config),
        norm1: newNorm(config),
        norm2: newNorm(config),
        dropout: new Dropout(config.dropRate ?? 0),
      }))
    })
  }

  /**
   * @param x [..., tokens, embDim], not modified
   * @param context passed on to attn, such as `{ returnWeights: true }`; see `onForward`
   * @returns a tensor of x's shape
   * @throws {GptLayersError} SHAPE when x does not end in [tokens, embDim] with at most contextLength
   *   tokens
   */
  override forward(x: Tensor, context?: Context): Tensor {
    const { attn, ff, norm1, norm2, dropout } = this
    checkTensor('x', x)
    return temporary(() => {
      const attended = forwardPart('attn', attn, forwardPart('norm1', norm1, x), context)
      const h = x.add(attended)
      const fed = forwardPart('ff', ff, forwardPart('norm2', norm2, h))
      return h.add(forwardPart('dropout', dropout, fed))
    })
  }
}
