/** @import { Indices } from '../tensor/indices.js' */
/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Tensor } from '../tensor/tensor.js' */

import { checkBoolean, checkObject, checkSize, describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkTensorOf } from '../tensor/check.js'
import { checkIndices } from '../tensor/indices.js'
import { Dropout } from './dropout.js'
import { Embedding } from './embedding.js'
import { LayerNorm } from './layernorm.js'
import { Linear } from './linear.js'
import { Module } from './module.js'
import { TransformerBlock } from './transformerblock.js'

/** The deviation that GPT-2's weights are drawn with. */
const DEVIATION = 0.02

/**
 * GPT-2 (Radford et al. 2019): embeddings of tokens and positions, dropout, transformer blocks, a last layer norm, and a
 * head without bias that gives each token of the vocabulary a logit.
 */
export class GPTModel extends Module {
  /** GPT-2's names. @override @internal */
  static aliases = {
    wte: 'tok_emb',
    wpe: 'pos_emb',
    h: 'trf_blocks',
    ln_f: 'final_norm',
    lm_head: 'out_head',
  }

  /** A checkpoint without a head, as GPT-2's, ties it. @override @internal */
  static substitutes = { 'out_head.weight': 'tok_emb.weight' }

  /** That of the last logits. @type {readonly number[]} */ #shape = []

  /**
   * Draws the parameters from the instance's generator, in the order of the properties below.
   *
   * @param {Runtime} runtime
   * @param {{ vocabSize: number, contextLength: number, nLayers: number, tieWeights?: boolean } &
   *   ConstructorParameters<typeof TransformerBlock>[1]} config GPT_CONFIG_124M as it is, or your own. vocabSize: tokens
   *   are from 0 to vocabSize - 1. contextLength: how many there may be in a sequence. nLayers: how many blocks. tieWeights:
   *   whether tokEmb and outHead share their weight, as in GPT-2; not by default. Then it and posEmb's are drawn once more,
   *   from N(0, 0.02) as GPT-2's. The rest as for Attention and FeedForward. GPT-2's own checkpoint loads into
   *   { ...GPT_CONFIG_124M, qkvBias: true, tieWeights: true }.
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new GPTModel({ vocabSize: 65, contextLength: 32, embDim: 64, nHeads: 4, nLayers: 2 })
   */
  constructor(runtime, config) {
    super(runtime)
    checkObject('GPTModel', 'config', config)
    const { vocabSize, contextLength, embDim, nLayers, dropRate = 0, tieWeights = false } = config
    checkSize('GPTModel', 'vocabSize', vocabSize)
    checkSize('GPTModel', 'contextLength', contextLength)
    checkSize('GPTModel', 'embDim', embDim)
    checkSize('GPTModel', 'nLayers', nLayers)
    checkBoolean('GPTModel', 'tieWeights', tieWeights)
    /** @readonly */
    this.vocabSize = vocabSize
    /** @readonly */
    this.contextLength = contextLength
    /** @readonly */
    this.embDim = embDim
    const layers = runtime.build(() => ({
      tokEmb: new Embedding(runtime, vocabSize, embDim),
      posEmb: new Embedding(runtime, contextLength, embDim),
      dropEmb: new Dropout(runtime, dropRate),
      trfBlocks: Array.from({ length: nLayers }, () => new TransformerBlock(runtime, config)),
      finalNorm: new LayerNorm(runtime, embDim),
      outHead: new Linear(runtime, embDim, vocabSize, { bias: false }),
    }))
    /** weight [vocabSize, embDim] @readonly @type {Embedding} */
    this.tokEmb = layers.tokEmb
    /** weight [contextLength, embDim] @readonly @type {Embedding} */
    this.posEmb = layers.posEmb
    /** @readonly @type {Dropout} */
    this.dropEmb = layers.dropEmb
    /** @readonly @type {readonly TransformerBlock[]} */
    this.trfBlocks = Object.freeze(layers.trfBlocks)
    /** @readonly @type {LayerNorm} */
    this.finalNorm = layers.finalNorm
    /** weight [vocabSize, embDim] @readonly @type {Linear} */
    this.outHead = layers.outHead
    if (tieWeights) {
      this.tokEmb.weight.dispose()
      this.tokEmb.weight = this.outHead.weight
      // Positions from N(0, 1) would drown tokens of the head's size: after 600 steps of a small model 2.5 instead of 0.1.
      for (const { weight } of [this.tokEmb, this.posEmb]) {
        runtime.generator.normal(weight, DEVIATION)
      }
    }
  }

  /**
   * @override
   * @param {Indices} ids [..., tokens] integers from 0 to vocabSize - 1: nested arrays, a typed array for one sequence, or
   *   a Tensor
   * @returns {Tensor} logits [..., tokens, vocabSize]
   * @throws {GptLayersError} SHAPE when there are no tokens, or more than contextLength; VALUE for an id out of range; TYPE,
   *   DISPOSED, MEMORY
   * @example model.forward([[0, 1, 2], [2, 3, 4]]).shape // [2, 3, 5], for a vocabulary of 5
   */
  forward(ids) {
    const where = 'GPTModel.forward'
    const { runtime, contextLength, embDim } = this
    const { indices, shape } = checkIndices(runtime, where, 'ids', ids, this.vocabSize)
    const tokens = shape.at(-1)
    if (!tokens || tokens > contextLength) {
      const expected = `end in 1 to ${contextLength} (contextLength) tokens`
      throw new GptLayersError('SHAPE', `${where}: ids should ${expected}, got shape [${shape.join(', ')}]`)
    }
    const logits = runtime.scope(() => {
      const positions = indices.map((_, i) => i % tokens)
      const embedded = this.tokEmb.forward(indices).add(this.posEmb.forward(positions))
      let x = this.dropEmb.forward(embedded).reshape([...shape, embDim])
      for (const block of this.trfBlocks) {
        const y = block.forward(x)
        x.dispose() // while there are more blocks to come
        x = y
      }
      return this.outHead.forward(this.finalNorm.forward(x))
    })
    this.save({})
    this.#shape = logits.shape
    return logits
  }

  /**
   * Adds to the gradients of all parameters.
   *
   * @override
   * @param {Tensor} dlogits of the shape that `forward` returned, not modified
   * @returns {any} null: there is no gradient with respect to integers
   * @example model.backward(gpt.crossEntropy(model.forward(tokens), targets).backward())
   */
  backward(dlogits) {
    const where = 'GPTModel.backward'
    const { runtime, embDim } = this
    this.saved(where)
    const gradient = checkTensorOf(runtime, where, 'dy', dlogits, this.#shape)
    runtime.scope(() => {
      let d = this.finalNorm.backward(this.outHead.backward(gradient))
      for (const block of [...this.trfBlocks].reverse()) {
        const dx = block.backward(d)
        d.dispose()
        d = dx
      }
      const dembedded = this.dropEmb.backward(d.reshape([-1, embDim]))
      this.posEmb.backward(dembedded)
      this.tokEmb.backward(dembedded)
    })
    this.release()
    return null
  }

  /**
   * Watches every LayerNorm: `listener` is called in each `forward` with its name, such as `trf_blocks.0.norm1` or
   * `final_norm`, what went in and what came out. The tensors are valid during the call; `clone` what should stay.
   *
   * @param {(event: { name: string, input: Tensor, output: Tensor }) => void} listener what it throws, `forward` throws
   * @returns {() => void} ends it
   * @throws {GptLayersError} TYPE
   * @example const stop = model.onNorm(({ name, output }) => console.log(name, output.var({ dim: -1 })))
   */
  onNorm(listener) {
    if (typeof listener !== 'function') {
      throw new GptLayersError(
        'TYPE',
        `GPTModel.onNorm: listener should be a function, got ${describe(listener)}`,
      )
    }
    const norms = this.trfBlocks.flatMap(({ norm1, norm2 }, i) => [
      { name: `trf_blocks.${i}.norm1`, norm: norm1 },
      { name: `trf_blocks.${i}.norm2`, norm: norm2 },
    ])
    const stops = [...norms, { name: 'final_norm', norm: this.finalNorm }].map(({ name, norm }) =>
      norm.watch((input, output) => listener({ name, input, output })),
    )
    return () => stops.forEach((stop) => stop())
  }

  /** transformers' names begin so where the model has a head. @override @internal @param {string} name */
  resolve(name) {
    return super.resolve(name.replace(/^transformer\./, ''))
  }
}
