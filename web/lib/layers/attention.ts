import {
  checkBoolean,
  checkConfig,
  checkCount,
  checkNumber,
  checkOptions,
  checkProbability,
  checkSameShape,
  checkSize,
  isPassedOn,
} from '../check.ts'
import { fail, withClass } from '../errors.ts'
import * as random from '../runtime/random.ts'
import { run, SCRATCH } from '../runtime/runtime.ts'
import { checkRows } from '../tensor/check.ts'
import { chain, temporary } from '../tensor/scope.ts'
import { leading, sizeOf } from '../tensor/shape.ts'
import { recordKernel, records } from '../tensor/tape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Conv1D } from './conv1d.ts'
import { Dropout } from './dropout.ts'
import { type CachePlace, KeyValueCache } from './kvcache.ts'
import { type Context, type Returned, checkEvaluation, forwardPart, Module } from './module.ts'

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
  /** @internal */
  static override readonly ownName: string = 'Attention'

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
   * Draws both layers' weights from the random generator, in PyTorch's order. In training mode dropout
   * applies to the weights and to the output of cProj; its masks are not PyTorch's, see Dropout.
   *
   * @param config GPT_CONFIG_124M as it is, or your own. Names of other layers are ignored, unknown ones
   *   refused
   * @example new Attention(GPT_CONFIG_124M).forward(gpt.rand([2, 3, 768])).shape // [2, 3, 768]
   */
  constructor(config: AttentionConfig) {
    super()
    try {
      checkCount(arguments, 1)
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
      const { cAttn, cProj } = temporary(() => ({
        cAttn: new Conv1D(3 * embDim, embDim, { bias: qkvBias }),
        cProj: new Conv1D(embDim, embDim, { bias }),
      }))
      this.cAttn = cAttn
      this.cProj = cProj
      this.residDropout = new Dropout(dropRate)
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  /**
   * @param x [..., tokens, embDim], not modified
   * @returns a tensor of x's shape
   * @throws {GptLayersError} SHAPE when x does not end in [tokens, embDim] with at most contextLength
   *   tokens
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
    const { cAttn, cProj, residDropout } = this
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
    return temporary(() => {
      const weights = returnWeights ? Tensor.empty([...perRow, tokens]) : null
      // In noGrad, cProj's output takes the place of qkv: x, qkv and y are the peak of memory.
      const output = chain(x, [
        (x) => forwardPart('cAttn', cAttn, x),
        (qkv) => {
          checkSameShape("cAttn's output", qkv.shape, [...leading(x.shape, 1), 3 * embDim])
          const y = Tensor.empty(x.shape)
          if (place === null) this.#attend(y, qkv, weights, perRow, sizes)
          else {
            const { kernel, keys, values, past, capacity } = place
            const [batch, , heads, size] = sizes
            run(kernel, [y, keys, values, SCRATCH, qkv, batch, tokens, past, capacity, heads, size])
          }
          return y
        },
        (y) => forwardPart('cProj', cProj, y),
        (y) => forwardPart('residDropout', residDropout, y),
      ])
      return weights ? { output, weights } : output
    })
  }

  /**
   * The heads: y from qkv, and the weights where they are wanted.
   *
   * @param perRow the shape of what there is for each row of the weights
   */
  #attend(y: Tensor, qkv: Tensor, weights: Tensor | null, perRow: readonly number[], sizes: Sizes): void {
    const dropRate = this.training ? this.dropRate : 0
    const seed = dropRate > 0 ? random.word() : 0
    const keeps = records(qkv) || weights !== null
    const max = keeps ? Tensor.empty(perRow) : null
    const sum = keeps ? Tensor.empty(perRow) : null
    run('gpt_attention_forward', [y, max, sum, SCRATCH, qkv, ...sizes, seed, dropRate])
    if (weights) run('gpt_attention_weights', [weights, SCRATCH, qkv, max, sum, ...sizes])
    recordKernel(y, {
      inputs: [qkv],
      saved: [y, qkv, max, sum],
      backward: (dy, dqkv) => {
        const read = [dy, y, qkv, max, sum]
        run('gpt_attention_backward', [dqkv, SCRATCH, ...read, ...sizes, seed, dropRate])
      },
    })
  }

  /** Checks x, and returns the number of its tokens. */
  #checkTokens(x: Tensor): number {
    const { embDim, contextLength } = this
    checkRows(x, embDim, 'embDim')
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
