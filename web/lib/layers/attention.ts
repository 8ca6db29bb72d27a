import type { Context, Returned } from './forward.ts'
import {
  checkBoolean,
  checkNumber,
  checkOptions,
  checkProbability,
  checkSameShape,
  checkSize,
  checkConfig,
  isPassedOn,
} from '../check.ts'
import { fail } from '../errors.ts'
import { type CachePlace, KeyValueCache } from '../generate/cache.ts'
import { type Runtime, SCRATCH } from '../runtime/runtime.ts'
import { recordKernel, records } from '../runtime/tape.ts'
import { checkRows } from '../tensor/check.ts'
import { leading, sizeOf } from '../tensor/shape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Conv1D } from './conv1d.ts'
import { Dropout } from './dropout.ts'
import { checkEvaluation, forwardPart, Module } from './module.ts'

/** The kernels' batch, tokens, heads, size. */
type Sizes = [number, number, number, number]

const DEFAULTS: { returnWeights: boolean; cache: unknown } = { returnWeights: false, cache: undefined }

export interface AttentionConfig {
  /** the number of features, the size of the last axis; a multiple of nHeads */
  embDim: number
  /** the number of heads */
  nHeads: number
  /** the most tokens of a sequence */
  contextLength: number
  /** the probability of dropout, from 0 to 1; 0 by default */
  dropRate?: number
  /** whether cAttn, which makes the queries, keys and values, has a bias; by default the value of `bias` */
  qkvBias?: boolean
  /** whether cProj has a bias, and by default cAttn; true by default. nanoGPT trains with false */
  bias?: boolean
}

/**
 * Causal multi-head attention (Vaswani et al. 2017, arXiv:1706.03762), as GPT-2's:
 *
 * 1. cAttn computes a query, a key and a value for each token and head.
 * 2. In each head, token i's output is the sum of the values of tokens 0 to i, with the weights
 *    softmax(query · key / √size).
 * 3. cProj mixes the heads.
 *
 * The weights never exist as a whole, except where `returnWeights` asks for them.
 *
 * With a cache, which a model's `forward` passes on, x has the new tokens only. Their keys and values are
 * appended to the cache, and each new token sees the tokens of the cache, too.
 */
export class Attention extends Module {
  readonly embDim: number
  readonly nHeads: number
  readonly contextLength: number
  readonly dropRate: number
  /** To q, k and v, side by side; weight [embDim, 3 · embDim]. */
  cAttn: Conv1D
  /** From the heads, side by side; weight [embDim, embDim]. */
  cProj: Conv1D
  /** After cProj. */
  residDropout: Module

  /**
   * Draws both layers' weights from the instance's generator, in PyTorch's order. In training mode dropout
   * applies to the weights and to the output of cProj; its masks are not PyTorch's, see Dropout.
   *
   * @param config GPT_CONFIG_124M as it is, or your own. Names of other layers are ignored, unknown ones
   *   refused
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new Attention(GPT_CONFIG_124M).forward(gpt.rand([2, 3, 768])).shape // [2, 3, 768]
   */
  constructor(runtime: Runtime, config: AttentionConfig) {
    super(runtime)
    const { embDim, nHeads, contextLength, dropRate = 0, bias = true, qkvBias = bias } = checkConfig(config)
    checkSize('embDim', embDim)
    checkSize('nHeads', nHeads)
    checkNumber('nHeads', nHeads, `a divisor of ${embDim} (embDim)`, (n) => embDim % n === 0)
    checkSize('contextLength', contextLength)
    checkProbability('dropRate', dropRate)
    checkBoolean('bias', bias)
    checkBoolean('qkvBias', qkvBias)
    this.embDim = embDim
    this.nHeads = nHeads
    this.contextLength = contextLength
    this.dropRate = dropRate
    const { cAttn, cProj } = runtime.temporary(() => ({
      cAttn: new Conv1D(runtime, 3 * embDim, embDim, { bias: qkvBias }),
      cProj: new Conv1D(runtime, embDim, embDim, { bias }),
    }))
    this.cAttn = cAttn
    this.cProj = cProj
    this.residDropout = new Dropout(runtime, dropRate)
  }

  /**
   * @param x [..., tokens, embDim], not modified
   * @returns a tensor of x's shape
   * @throws {GptLayersError} SHAPE when x does not end in [tokens, embDim] with at most contextLength tokens;
   *   TYPE, VALUE, DISPOSED, MEMORY
   */
  override forward(x: Tensor, options?: { returnWeights?: false }): Tensor
  /**
   * Returns the weights as well: [..., nHeads, tokens, tokens], from before dropout. Row i holds the weights
   * with which token i sees tokens 0 to i. They sum to 1; the weights of later tokens are 0. They have no
   * gradient. Within a model, pass the same option to the model's `forward`, and get the weights from
   * `onForward`.
   *
   * @param x [..., tokens, embDim], not modified
   * @example const { output, weights } = layer.forward(x, { returnWeights: true })
   */
  override forward(x: Tensor, options: { returnWeights: true }): { output: Tensor; weights: Tensor }
  /** @returns a tensor, or an object with returnWeights */
  override forward(x: Tensor, options?: Context): Returned
  override forward(x: Tensor, options?: Context): Returned {
    const { runtime, cAttn, cProj, residDropout } = this
    const tokens = this.#checkTokens(x)
    // A context that was passed on may have options of other layers.
    const own = isPassedOn(options)
      ? { returnWeights: options?.returnWeights, cache: options?.cache }
      : options
    const { returnWeights, cache } = checkOptions(own, DEFAULTS)
    checkBoolean('returnWeights', returnWeights)
    const { embDim, nHeads } = this
    const sizes: Sizes = [sizeOf(leading(x.shape, 2)), tokens, nHeads, embDim / nHeads]
    if (cache !== undefined && returnWeights) {
      const expected = 'false with a cache, which has no weights for earlier tokens'
      throw fail('UNSUPPORTED', 'returnWeights', `be ${expected}`, 'true')
    }
    const place = cache === undefined ? null : Attention.#placeIn(this, cache, sizes)
    const perRow = [...leading(x.shape, 2), nHeads, tokens]
    return runtime.temporary(() => {
      const qkv = forwardPart(runtime, 'cAttn', cAttn, x)
      checkSameShape("cAttn's output", qkv.shape, [...leading(x.shape, 1), 3 * embDim])
      const y = Tensor.empty(runtime, x.shape)
      const weights = returnWeights ? Tensor.empty(runtime, [...perRow, tokens]) : null
      if (place !== null) {
        const { kernel, keys, values, past, capacity } = place
        const [batch, , heads, size] = sizes
        runtime.run(kernel, [y, keys, values, SCRATCH, qkv, batch, tokens, past, capacity, heads, size])
      }
      if (place === null) this.#attend(y, qkv, weights, perRow, sizes)
      // Without gradients this frees qkv, and cProj's output takes its place: x, qkv and y are the peak of
      // memory.
      if (y.step === null && runtime.memory.isPrivate) qkv.dispose()
      const projected = forwardPart(runtime, 'cProj', cProj, y)
      const output = forwardPart(runtime, 'residDropout', residDropout, projected)
      return weights ? { output, weights } : output
    })
  }

  /**
   * The heads: y from qkv, and the weights where they are wanted.
   *
   * @param perRow the shape of what there is for each row of the weights
   */
  #attend(y: Tensor, qkv: Tensor, weights: Tensor | null, perRow: readonly number[], sizes: Sizes): void {
    const { runtime } = this
    const dropRate = this.training ? this.dropRate : 0
    const seed = dropRate > 0 ? runtime.generator.word() : 0
    const keeps = records(qkv) || weights !== null
    const max = keeps ? Tensor.empty(runtime, perRow) : null
    const sum = keeps ? Tensor.empty(runtime, perRow) : null
    runtime.run('gpt_attention_forward', [y, max, sum, SCRATCH, qkv, ...sizes, seed, dropRate])
    if (weights) runtime.run('gpt_attention_weights', [weights, SCRATCH, qkv, max, sum, ...sizes])
    recordKernel(y, {
      inputs: [qkv],
      saved: [y, qkv, max, sum],
      backward: (dy, dqkv) => {
        const read = [dy, y, qkv, max, sum]
        runtime.run('gpt_attention_backward', [dqkv, SCRATCH, ...read, ...sizes, seed, dropRate])
      },
    })
  }

  /** Checks x, and returns the number of its tokens. */
  #checkTokens(x: Tensor): number {
    const { runtime, embDim, contextLength } = this
    checkRows(runtime, x, embDim, 'embDim')
    const tokens = x.shape.at(-2)
    if (tokens !== undefined && tokens <= contextLength) return tokens
    const expected = `end in [tokens, ${embDim}] with at most ${contextLength} (contextLength) tokens`
    throw fail('SHAPE', 'x', expected, x.shape)
  }

  /** The place in the cache to which `forward` appends. */
  static #placeIn(layer: Attention, cache: unknown, [batch, tokens]: Sizes): CachePlace {
    checkEvaluation('cache', layer)
    const place = KeyValueCache.placeOf(cache, layer, batch, tokens)
    const end = place.past + tokens
    if (end <= layer.contextLength) return place
    const expected = `end with token ${layer.contextLength} (contextLength) at most`
    throw fail('SHAPE', 'x', expected, `tokens up to ${end}`)
  }
}
