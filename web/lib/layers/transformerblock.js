/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { AttentionConfig } from './attention.js' */
/** @import { FeedForwardConfig } from './feedforward.js' */
/** @import { Context } from './forward.js' */

import { checkConfig, readGiven } from '../check.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { add } from '../tensor/elementwise.js'
import { Tensor } from '../tensor/tensor.js'
import { Affine } from './affine.js'
import { Attention } from './attention.js'
import { Conv1D } from './conv1d.js'
import { Dropout } from './dropout.js'
import { FeedForward } from './feedforward.js'
import { outputOf } from './forward.js'
import { LayerNorm } from './layernorm.js'
import { checkLayers, isPlain, Module } from './module.js'

/** With more rows the kernels take so long that the layers' own time hardly counts. */
const FEW_ROWS = 8

/** @typedef {AttentionConfig & FeedForwardConfig} TransformerBlockConfig */

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
  /** GPT-2's names. @override @internal */
  static aliases = { ln_1: 'norm1', ln_2: 'norm2', mlp: 'ff' }

  /**
   * Draws the parameters of attn, then those of ff, from the instance's generator.
   *
   * @param {Runtime} runtime
   * @param {TransformerBlockConfig} config GPT_CONFIG_124M as it is, or your own. dropRate is the probability
   *   of every dropout. Names of other layers are ignored, unknown ones refused
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new TransformerBlock(GPT_CONFIG_124M).forward(gpt.rand([2, 3, 768])).shape // [2, 3, 768]
   */
  constructor(runtime, config) {
    super(runtime)
    const given = checkConfig('TransformerBlock', config)
    const layers = runtime.build(() => {
      const attn = new Attention(runtime, given)
      const ff = new FeedForward(runtime, given)
      const [norm1, norm2] = [new LayerNorm(runtime, attn.embDim), new LayerNorm(runtime, attn.embDim)]
      return { attn, ff, norm1, norm2 }
    })
    /** @readonly @type {Attention} */
    this.attn = layers.attn
    /** @readonly @type {FeedForward} */
    this.ff = layers.ff
    /** Before attn. @readonly @type {LayerNorm} */
    this.norm1 = layers.norm1
    /** Before ff. @readonly @type {LayerNorm} */
    this.norm2 = layers.norm2
    /** After ff. @readonly @type {Dropout} */
    this.dropout = new Dropout(runtime, layers.attn.dropRate)
  }

  /**
   * @override
   * @param {Tensor} x [..., tokens, embDim], not modified
   * @param {Context} [context] passed on to attn, such as `{ returnWeights: true }`; see `onForward`
   * @returns {Tensor} of x's shape
   * @throws {GptLayersError} SHAPE when x does not end in [tokens, embDim] with at most contextLength tokens;
   *   TYPE, VALUE, DISPOSED, MEMORY
   */
  forward(x, context) {
    const where = 'TransformerBlock.forward'
    const { runtime } = this
    const layers = this.#layers(where)
    const { attn, ff, norm1, norm2, dropout } = layers
    const rows = checkRows(runtime, where, x, attn.embDim, 'embDim')
    const step = rows <= FEW_ROWS ? this.#step(x, rows, layers, context) : null
    if (step !== null) return step
    const y = runtime.scope(() => {
      const h = x.add(outputOf(attn.forward(norm1.forward(x), context)))
      return h.add(dropout.forward(ff.forward(norm2.forward(h))))
    })
    this.save({ x })
    return y
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx
   */
  backward(dy) {
    const where = 'TransformerBlock.backward'
    const { runtime } = this
    const { attn, ff, norm1, norm2, dropout } = this.#layers(where)
    const { x } = this.saved(where)
    checkTensorOf(runtime, where, 'dy', dy, x.shape)
    const dx = runtime.scope(() => {
      const dh = dy.add(norm2.backward(ff.backward(dropout.backward(dy))))
      return dh.add(norm1.backward(attn.backward(dh)))
    })
    return dx
  }

  /**
   * `forward` of a few tokens with a cache, where all layers inside are ours: their kernels, one after the
   * other. It gives the same bits. With one token the layers' own `forward`, their checks and their tensors
   * would take 15 % of GPT-2's time.
   *
   * @param {Tensor} x
   * @param {number} rows
   * @param {Pick<TransformerBlock, 'attn' | 'ff' | 'norm1' | 'norm2' | 'dropout'>} layers
   * @param {Context | undefined} context
   * @returns {Tensor | null} null where `forward` has to run the layers
   */
  #step(x, rows, { attn, ff, norm1, norm2, dropout }, context) {
    const { runtime } = this
    if (this.training || context === undefined || context === null) return null
    const readCache = () => (Object.keys(context).join() === 'cache' ? context.cache : undefined)
    const cache = readGiven('TransformerBlock.forward', 'context', readCache)
    if (cache === undefined) return null
    if (!isPlain(attn, Attention, runtime) || !isPlain(dropout, Dropout, runtime)) return null
    const { embDim, cAttn, cProj, residDropout } = attn
    for (const norm of [norm1, norm2]) {
      if (!isPlain(norm, LayerNorm, runtime) || norm.embDim !== embDim) return null
    }
    for (const layer of [cAttn, cProj])
      if (!isPlain(layer, Conv1D, runtime) || layer.nx !== embDim) return null
    if (cAttn.nf !== 3 * embDim || cProj.nf !== embDim || ff.embDim !== embDim) return null
    const inside = FeedForward.plainLayers(ff, runtime)
    if (inside === null || !isPlain(residDropout, Dropout, runtime)) return null
    const [first, gelu, second] = inside
    const sizes = Attention.sizesOf(attn, x)
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, 'TransformerBlock.forward', x.shape)
      const widths = [embDim, 3 * embDim, embDim, embDim, embDim, first.outFeatures, first.outFeatures]
      const total = widths.reduce((sum, width) => sum + width, 0)
      const room = Tensor.empty(runtime, 'TransformerBlock.forward', [rows, total])
      let used = 0
      const [normed, qkv, heads, branch, h, hidden, active] = widths.map((width) => {
        used += rows * width
        return room.pointerTo(used - rows * width)
      })
      const place = Attention.placeIn(attn, cache, sizes)
      LayerNorm.run(norm1, normed, x, rows)
      Affine.run(cAttn, qkv, normed, rows)
      Attention.run(runtime, heads, qkv, sizes, place)
      Affine.run(cProj, branch, heads, rows)
      add(runtime, h, x, branch, x.size)
      LayerNorm.run(norm2, normed, h, rows)
      Affine.run(first, hidden, normed, rows)
      runtime.run('gpt_gelu_forward', [active, hidden, rows * first.outFeatures, gelu.kind])
      Affine.run(second, branch, active, rows)
      add(runtime, y, h, branch, x.size)
      return y
    })
  }

  /** @param {string} where */
  #layers(where) {
    const { attn, ff, norm1, norm2, dropout } = this
    checkLayers(where, 'attn, ff, norm1, norm2, dropout', [attn, ff, norm1, norm2, dropout])
    return { attn, ff, norm1, norm2, dropout }
  }
}
