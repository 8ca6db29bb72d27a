import { checkBoolean, checkNumber, checkOptions, checkProbability, named } from '../check.ts'
import { fail } from '../errors.ts'
import * as random from '../runtime/random.ts'
import { run, SCRATCH } from '../runtime/runtime.ts'
import { ones } from '../tensor/create.ts'
import { cat } from '../tensor/join.ts'
import { chain, temporary } from '../runtime/scope.ts'
import { broadcast, checkSameShape, leading, sameShape, sizeOf } from '../tensor/shape.ts'
import { recordKernel, records } from '../tensor/tape.ts'
import { checkRows, checkTensor, Tensor } from '../tensor/tensor.ts'
import { drop, Dropout } from './dropout.ts'
import { KeyValueCache } from './kvcache.ts'
import { Conv1D } from './linear.ts'
import {
  type Context,
  type Returned,
  checkEvaluation,
  constructLayer,
  forwardPart,
  Module,
} from './module.ts'
import { checkConfig } from '../config.ts'

/** The kernels' batch, tokens, heads, size. */
type Sizes = readonly [number, number, number, number]

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
 * Causal attention of each head: computes y from qkv and records it, and computes the weights if they are wanted.
 *
 * @param y [..., tokens, heads · size], to be written
 * @param qkv [..., tokens, 3 · heads · size]
 * @param weights [..., heads, tokens, tokens], to be written; or null
 * @param p the probability of dropout
 */
function attend(y: Tensor, qkv: Tensor, weights: Tensor | null, sizes: Sizes, p: number): void {
  const [batch, tokens, heads] = sizes
  const seed = p > 0 ? random.word() : 0
  const keeps = records(qkv) || weights !== null
  const max = keeps ? Tensor.empty([batch, heads, tokens]) : null
  const sum = keeps ? Tensor.empty([batch, heads, tokens]) : null
  run('gpt_attention_forward', [y, max, sum, SCRATCH, qkv, ...sizes, seed, p])
  if (weights) run('gpt_attention_weights', [weights, SCRATCH, qkv, max, sum, ...sizes])
  recordKernel(y, {
    inputs: [qkv],
    saved: [y, qkv],
    owned: [max, sum],
    backward: (dy, dqkv) => {
      const read = [dy, y, qkv, max, sum]
      run('gpt_attention_backward', [dqkv, SCRATCH, ...read, ...sizes, seed, p])
    },
  })
}

export interface ScaledDotProductAttentionOptions {
  /**
   * added to the scores: a tensor that broadcasts to [..., queries, keys]. -Infinity hides a key. As all
   * tensors are floats, there is no mask of booleans: for a mask that is 1 where a key counts, and otherwise 0,
   * give `mask.log()`
   */
  attnMask?: Tensor
  /** query i sees the keys 0 to i only; false by default. Not together with attnMask */
  isCausal?: boolean
  /** the probability with which a weight is dropped, from 0 to 1; 0 by default. Its masks are not PyTorch's */
  dropout?: number
  /** by which the products are multiplied; 1/√size by default */
  scale?: number
}

/**
 * softmax(q · kᵀ · scale + attnMask) · v, as torch's F.scaled_dot_product_attention (Vaswani et al. 2017,
 * arXiv:1706.03762). The leading axes, such as heads, broadcast as those of `matmul`. A query that sees no key
 * gives NaN. With `isCausal`, and q, k and v of one shape, no matrix of [queries, keys] is stored.
 *
 * @param q [..., queries, size]
 * @param k [..., keys, size]
 * @param v [..., keys, n]
 * @returns [..., queries, n]
 * @throws {GptLayersError} SHAPE where the sizes do not fit; VALUE for attnMask together with isCausal
 * @example
 * const q = gpt.randn([2, 4, 3, 8])
 * gpt.scaledDotProductAttention(q, q, q, { isCausal: true }).shape // [2, 4, 3, 8]
 */
export const scaledDotProductAttention = /* @__PURE__ */ named(
  'scaledDotProductAttention',
  (q: Tensor, k: Tensor, v: Tensor, options?: ScaledDotProductAttentionOptions): Tensor => {
    for (const [name, value] of Object.entries({ q, k, v })) {
      const { shape } = checkTensor(name, value)
      if (shape.length < 2) throw fail('SHAPE', name, 'have 2 axes or more', shape)
    }
    const [queries, size] = q.shape.slice(-2)
    const [keys] = k.shape.slice(-2)
    if (k.shape.at(-1) !== size) throw fail('SHAPE', 'k', `end in ${size}, as q`, k.shape)
    if (v.shape.at(-2) !== keys)
      throw fail('SHAPE', 'v', `end in [${keys}, n], as k has ${keys} keys`, v.shape)
    const outer = broadcast(leading(q.shape, 2), leading(k.shape, 2), "k's leading axes")
    broadcast(outer, leading(v.shape, 2), "v's leading axes")
    const defaults = { isCausal: false, attnMask: undefined, dropout: 0, scale: undefined }
    const checks = { dropout: checkProbability, scale: checkNumber }
    const given = checkOptions<ScaledDotProductAttentionOptions & typeof defaults>(options, defaults, checks)
    const { attnMask, isCausal, dropout, scale = 1 / Math.sqrt(size) } = given
    if (attnMask !== undefined) {
      broadcast([...outer, queries, keys], checkTensor('attnMask', attnMask).shape, 'attnMask')
      if (isCausal) throw fail('VALUE', 'isCausal', 'be false with an attnMask', 'true')
    }
    return temporary(() => {
      const isOneShape = sameShape(q.shape, k.shape) && sameShape(q.shape, v.shape)
      if (isCausal && isOneShape && q.size > 0) {
        // The kernel's scale is 1/√size. Each head is a sequence of its own, so that nothing is transposed.
        const scaled = given.scale === undefined ? q : q.mul(scale * Math.sqrt(size))
        const y = Tensor.empty(q.shape)
        attend(y, cat([scaled, k, v], { dim: -1 }), null, [sizeOf(outer), queries, 1, size], dropout)
        return y
      }
      let scores = q.mul(scale).matmul(k.transpose(-2, -1))
      if (isCausal) scores = scores.maskedFill(ones([queries, keys]).triu({ diagonal: 1 }), -Infinity)
      if (attnMask) scores = scores.add(attnMask)
      return drop(scores.softmax(), dropout).matmul(v)
    })
  },
)

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

  readonly embDim!: number
  readonly nHeads!: number
  readonly contextLength!: number
  readonly dropRate!: number
  /** To q, k and v, side by side; weight [embDim, 3 · embDim]. */
  cAttn!: Conv1D
  /** From the heads, side by side; weight [embDim, embDim]. */
  cProj!: Conv1D
  /** After cProj. */
  residDropout!: Module

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
    constructLayer<Attention>(this, arguments, 1, () => {
      checkConfig(config, 'embDim', 'nHeads', 'contextLength', 'dropRate', 'bias', 'qkvBias')
      const { embDim, nHeads, contextLength, dropRate = 0, bias = true, qkvBias = bias } = config
      checkNumber('nHeads', nHeads, `a divisor of ${embDim} (embDim)`, (n) => embDim % n === 0)
      return temporary(() => {
        const cAttn = new Conv1D(3 * embDim, embDim, { bias: qkvBias })
        const cProj = new Conv1D(embDim, embDim, { bias })
        const residDropout = new Dropout(dropRate)
        return { embDim, nHeads, contextLength, dropRate, cAttn, cProj, residDropout }
      })
    })
  }

  /**
   * @param x [..., tokens, embDim], not modified
   * @returns a tensor of x's shape
   * @throws {GptLayersError} SHAPE when x does not end in [tokens, embDim] with at most contextLength
   *   tokens
   */
  override forward(x: Tensor, context?: { returnWeights?: false }): Tensor
  /**
   * Returns the weights as well: [..., nHeads, tokens, tokens], from before dropout. Row i holds the weights
   * with which token i sees tokens 0 to i. They sum to 1; the weights of later tokens are 0. They have no
   * gradient. Within a model, pass the same option to the model's `forward`, and get the weights from
   * `onForward`.
   *
   * @param x [..., tokens, embDim], not modified
   * @example const { output, weights } = layer.forward(x, { returnWeights: true })
   */
  override forward(x: Tensor, context: { returnWeights: true }): { output: Tensor; weights: Tensor }
  /** @returns a tensor, or an object with returnWeights */
  override forward(x: Tensor, context?: Context): Returned
  override forward(x: Tensor, context: Context = {}): Returned {
    const { cAttn, cProj, residDropout, embDim, nHeads, contextLength } = this
    checkRows(x, [embDim], 'embDim')
    const tokens = x.shape.at(-2)
    if (tokens === undefined || tokens > contextLength) {
      const expected = `end in [tokens, ${embDim}] with at most ${contextLength} (contextLength) tokens`
      throw fail('SHAPE', 'x', expected, x.shape)
    }
    const { returnWeights = false, cache } = context
    checkBoolean('returnWeights', returnWeights)
    const sizes: Sizes = [sizeOf(leading(x.shape, 2)), tokens, nHeads, embDim / nHeads]
    if (cache !== undefined && returnWeights) {
      const expected = 'false with a cache, which has no weights for earlier tokens'
      throw fail('UNSUPPORTED', 'returnWeights', `be ${expected}`, 'true')
    }
    if (cache !== undefined) checkEvaluation('cache', this)
    return temporary(() => {
      const weights = returnWeights ? Tensor.empty([...leading(x.shape, 2), nHeads, tokens, tokens]) : null
      // In noGrad, cProj's output takes the place of qkv: x, qkv and y are the peak of memory.
      const output = chain(x, [
        (x) => forwardPart('cAttn', cAttn, x),
        (qkv) => {
          checkSameShape("cAttn's output", qkv.shape, [...leading(x.shape, 1), 3 * embDim])
          const y = Tensor.empty(x.shape)
          if (cache !== undefined) KeyValueCache.attend(cache, this, y, qkv, sizes)
          else attend(y, qkv, weights, sizes, this.training ? this.dropRate : 0)
          return y
        },
        (y) => forwardPart('cProj', cProj, y),
        (y) => forwardPart('residDropout', residDropout, y),
      ])
      return weights ? { output, weights } : output
    })
  }
}
