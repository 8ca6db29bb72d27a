/** @import { Runtime } from '../runtime/runtime.js' */

import { checkBoolean, checkNumber, checkObject, checkOptions, checkSize } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Conv1D } from './conv1d.js'
import { Dropout } from './dropout.js'
import { Module } from './module.js'

/**
 * Causal multi-head attention (Vaswani et al. 2017, arXiv:1706.03762), as GPT-2's: cAttn gives each token its query, key
 * and value; each head weighs the values of the tokens up to its own by softmax(query · key / √size); cProj mixes the
 * heads. The weights never exist whole, but where they are asked for.
 */
export class Attention extends Module {
  /** GPT-2's checkpoints carry its mask. @override @internal */
  static aliases = { bias: null, masked_bias: null }

  /** What the last `forward` in training dropped of the weights follows from this. */ #seed = 0

  /**
   * Draws both layers' weights from the instance's generator, in PyTorch's order. While training, dropout takes weights
   * and, after cProj, elements of the output; its masks are not PyTorch's, see Dropout.
   *
   * @param {Runtime} runtime
   * @param {{ embDim: number, nHeads: number, contextLength: number, dropRate?: number, qkvBias?: boolean }} config
   *   GPT_CONFIG_124M as it is, or your own; other names in it are ignored. embDim: a multiple of nHeads. contextLength:
   *   how many tokens x may have. dropRate: the probability of dropout, 0 by default. qkvBias: whether cAttn has a bias,
   *   as it has by default
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new Attention(GPT_CONFIG_124M).forward(gpt.rand([2, 3, 768])).shape // [2, 3, 768]
   */
  constructor(runtime, config) {
    super(runtime)
    checkObject('Attention', 'config', config)
    const { embDim, nHeads, contextLength, dropRate = 0, qkvBias = true } = config
    checkSize('Attention', 'embDim', embDim)
    checkSize('Attention', 'nHeads', nHeads)
    checkNumber('Attention', 'nHeads', nHeads, `a divisor of ${embDim} (embDim)`, (n) => embDim % n === 0)
    checkSize('Attention', 'contextLength', contextLength)
    checkNumber('Attention', 'dropRate', dropRate, 'a number from 0 to 1', (n) => n >= 0 && n <= 1)
    checkBoolean('Attention', 'qkvBias', qkvBias)
    /** @readonly */
    this.embDim = embDim
    /** @readonly */
    this.nHeads = nHeads
    /** @readonly */
    this.contextLength = contextLength
    /** @readonly */
    this.dropRate = dropRate
    const { cAttn, cProj } = runtime.build(() => ({
      cAttn: new Conv1D(runtime, 3 * embDim, embDim, { bias: qkvBias }),
      cProj: new Conv1D(runtime, embDim, embDim),
    }))
    /** To q, k and v, side by side; weight [embDim, 3 · embDim]. @readonly @type {Conv1D} */
    this.cAttn = cAttn
    /** From the heads, side by side; weight [embDim, embDim]. @readonly @type {Conv1D} */
    this.cProj = cProj
    /** After cProj. @readonly @type {Dropout} */
    this.residDropout = new Dropout(runtime, dropRate)
  }

  /**
   * @override
   * @template {boolean} [W=false]
   * @param {Tensor} x [..., tokens, embDim], not modified
   * @param {{ returnWeights?: W }} [options] returnWeights: whether to give the weights as well
   * @returns {W extends true ? { output: Tensor, weights: Tensor } : Tensor} of x's shape; with returnWeights also the
   *   weights [..., nHeads, tokens, tokens], before dropout: row i is how token i weighs tokens 0 to i, 1 in all, and 0
   *   for those after it
   * @throws {GptLayersError} SHAPE when x does not end in [tokens, embDim] with at most contextLength tokens; TYPE, VALUE,
   *   DISPOSED, MEMORY
   * @example const { output, weights } = layer.forward(x, { returnWeights: true })
   */
  forward(x, options = {}) {
    const where = 'Attention.forward'
    const { runtime, embDim, nHeads, contextLength, dropRate, training } = this
    checkRows(runtime, where, x, embDim, 'embDim')
    const input = x
    const tokens = input.shape.at(-2)
    if (tokens === undefined || tokens > contextLength) {
      const expected = `end in [tokens, ${embDim}] with at most ${contextLength} (contextLength) tokens`
      throw new GptLayersError(
        'SHAPE',
        `${where}: x should ${expected}, got shape [${input.shape.join(', ')}]`,
      )
    }
    const { returnWeights } = checkOptions(where, options, { returnWeights: /** @type {boolean} */ (false) })
    checkBoolean(where, 'returnWeights', returnWeights)
    const leading = input.shape.slice(0, -2)
    const sizes = this.#sizes(input)
    const parts = runtime.timedParts(this.#time(input))
    return runtime.scope(() => {
      const qkv = this.cAttn.forward(input)
      const y = Tensor.empty(runtime, where, input.shape)
      const lse =
        training || returnWeights ? Tensor.empty(runtime, where, [...leading, nHeads, tokens]) : null
      const weights = returnWeights
        ? Tensor.empty(runtime, where, [...leading, nHeads, tokens, tokens])
        : null
      const seed = training && dropRate > 0 ? runtime.generator.word() : 0
      runtime.scope(() => {
        const { byteOffset: scratch } = Tensor.empty(runtime, where, [
          parts * runtime.exports.gpt_attention_scratch_size(tokens, embDim / nHeads),
        ])
        runtime.inParts(
          parts,
          'gpt_attention_forward',
          y.byteOffset,
          lse?.byteOffset ?? 0,
          scratch,
          qkv.byteOffset,
          ...sizes,
          seed,
          training ? dropRate : 0,
        )
        if (weights !== null && lse !== null) {
          runtime.inParts(
            parts,
            'gpt_attention_weights',
            weights.byteOffset,
            scratch,
            qkv.byteOffset,
            lse.byteOffset,
            ...sizes,
          )
        }
      })
      if (training) {
        this.save({ qkv, y, lse: /** @type {Tensor} */ (lse) })
        this.#seed = seed
      }
      // In evaluation its memory is free now: cProj's output takes its place, and q, k, v, x and y are the most there is.
      qkv.dispose()
      const output = this.residDropout.forward(this.cProj.forward(y))
      return /** @type {any} */ (weights === null ? output : { output, weights })
    })
  }

  /**
   * @override
   * @param {Tensor} dy of x's shape, not modified
   * @returns {Tensor} dx; adds to the gradients of cAttn's and cProj's parameters
   */
  backward(dy) {
    const where = 'Attention.backward'
    const { runtime, embDim, nHeads, dropRate } = this
    const { qkv, y, lse } = this.saved(where)
    const gradient = checkTensorOf(runtime, where, 'dy', dy, y.shape)
    const tokens = /** @type {number} */ (y.shape.at(-2))
    const parts = runtime.timedParts(2.5 * this.#time(y))
    return runtime.scope(() => {
      const dqkv = Tensor.empty(runtime, where, qkv.shape)
      const scratch = Tensor.empty(runtime, where, [
        parts * runtime.exports.gpt_attention_backward_scratch_size(tokens, embDim / nHeads),
      ])
      const dyOfHeads = this.cProj.backward(this.residDropout.backward(gradient))
      runtime.inParts(
        parts,
        'gpt_attention_backward',
        dqkv.byteOffset,
        scratch.byteOffset,
        dyOfHeads.byteOffset,
        y.byteOffset,
        qkv.byteOffset,
        lse.byteOffset,
        ...this.#sizes(y),
        this.#seed,
        dropRate,
      )
      const dx = this.cAttn.backward(dqkv)
      this.release()
      return dx
    })
  }

  /**
   * What the kernels call sizes: sequences, tokens, heads and a head's size.
   *
   * @param {Tensor} x
   * @returns {[number, number, number, number]}
   */
  #sizes({ shape }) {
    const tokens = /** @type {number} */ (shape.at(-2))
    const batch = shape.slice(0, -2).reduce((product, size) => product * size, 1)
    return [batch, tokens, this.nHeads, this.embDim / this.nHeads]
  }

  /**
   * How long one thread takes, about, in nanoseconds: half of the scores count, and each takes 2 · size multiply-adds.
   *
   * @param {Tensor} x
   */
  #time({ shape, size }) {
    return (size * /** @type {number} */ (shape.at(-2))) / 20
  }
}
