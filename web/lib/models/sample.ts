import { fail } from '../errors.ts'
import * as random from '../runtime/random.ts'
import { run } from '../runtime/runtime.ts'
import { Tensor } from '../tensor/tensor.ts'
import { largest } from '../tensor/topk.ts'

/** The most candidates that are returned beside a token. */
const TOP = 10

/** How many of the most probable tokens topP looks at first: it seldom keeps more. */
const FIRST_LOOK = 64

/** The number of probabilities that the kernel adds up, before float64 does. */
const BLOCK = 256

export interface Candidate {
  token: number
  /** from 0 to 1 */
  probability: number
}

/**
 * A token of `generate`. The probabilities are those of the distribution that the token is drawn from; with
 * temperature 0, those of temperature 1.
 */
export interface GeneratedToken {
  token: number
  /** from 0 to 1 */
  probability: number
  /** the 10 most probable tokens that could be drawn, or all where they are fewer; the best first */
  top: readonly Candidate[]
}

/** How tokens are drawn: options of `generate`. */
type Sampling = {
  temperature: number
  /** 0: no limit */
  topK: number
  topP: number
  repetitionPenalty: number
  suppressTokens: readonly number[]
}

/**
 * Draws a token. The steps and their order are those of Hugging Face's transformers: repetitionPenalty,
 * suppressTokens, temperature, topK, topP. Exponentials come from our kernels, because those of JavaScript
 * differ between engines; sums have a fixed order.
 *
 * @param given logits [1, vocabSize]
 * @param text the tokens that the penalty applies to
 * @throws {GptLayersError} VALUE where a logit is NaN or Infinity, or no token is left to draw
 */
export function sampleToken(given: Tensor, text: Iterable<number>, options: Sampling): GeneratedToken {
  const { topP, repetitionPenalty, suppressTokens } = options
  const temperature = Math.fround(options.temperature) // 1e-50 is 0
  const topK = options.topK || Infinity
  const { size } = given
  const changes = repetitionPenalty !== 1 || suppressTokens.length > 0
  const logits = changes ? given.clone() : given // the model may use its own later
  if (repetitionPenalty !== 1) penalize(logits.data, new Set(text), repetitionPenalty)
  for (const token of suppressTokens) logits.data[token] = -Infinity
  const count = topK < size ? topK + 1 : topP < 1 ? FIRST_LOOK : 0
  const best = largest(logits.data, Math.max(count, TOP))
  const blocks = softmax(logits, best[0] ?? 0, temperature || 1)
  const blockSums = Tensor.empty([blocks.shape[0]])
  run('gpt_sum', [blockSums, blocks, ...blocks.shape])
  // Before the views: the first number of the generator takes memory, which may move the heap.
  const drawn = temperature === 0 ? 0 : random.word() / 2 ** 32
  const [probabilities, sums] = [blocks.data, blockSums.data]
  if (!(probabilities[best[0]] > 0)) {
    const { data } = given
    if (data.some((logit) => logit > -Infinity) && data.every((logit) => logit < Infinity)) {
      const name = repetitionPenalty === 1 ? 'suppressTokens' : 'repetitionPenalty and suppressTokens'
      throw fail('VALUE', name, 'leave a token that can be drawn')
    }
    throw fail('VALUE', "the model's logits", 'be finite numbers or -Infinity, and not all -Infinity')
  }
  const all = topK < size ? largestWithTies(logits.data, best, topK) : null
  const kept = topP < 1 ? nucleus(probabilities, all, best, topP) : all
  const total = kept === null ? sums.reduce((sum, part) => sum + part, 0) : sumOf(probabilities, kept)
  const candidate = (token: number) => ({ token, probability: probabilities[token] / total })
  const target = drawn * total
  const token = kept === null ? pick(probabilities, sums, target) : pickAmong(probabilities, kept, target)
  const top = Array.from(best.subarray(0, Math.min(TOP, kept?.length ?? size)), candidate)
  return {
    ...candidate(temperature === 0 ? best[0] : token),
    top: top.filter(({ probability }) => probability > 0),
  }
}

/** The penalty of CTRL (Keskar et al. 2019, arXiv:1909.05858), where it works for negative logits, too. */
function penalize(logits: Float32Array, text: Iterable<number>, penalty: number): void {
  for (const token of text) {
    const logit = logits[token]
    logits[token] = logit < 0 ? logit * penalty : logit / penalty
  }
}

/**
 * @param best the token of the largest one
 * @returns softmax(logits / temperature), and zeros: [blocks, BLOCK]
 */
function softmax(logits: Tensor, best: number, temperature: number): Tensor {
  const { size } = logits
  // Without the subtraction a quotient might not be finite.
  const scaled = temperature === 1 ? logits : logits.sub(logits.data[best]).div(temperature)
  const y = Tensor.empty([Math.ceil(size / BLOCK), BLOCK])
  run('gpt_softmax_forward', [y, scaled, 1, size])
  y.data.fill(0, size)
  return y
}

/**
 * The `count` largest values, and all that equal the last of them: transformers removes what is less.
 *
 * @param best the indices of the largest values, at least one more than `count`
 * @returns their indices, the largest first; of equal ones the lower index
 */
function largestWithTies(values: Float32Array, best: Int32Array, count: number): Int32Array {
  const least = values[best[count - 1]]
  if (values[best[count]] < least) return best.subarray(0, count)
  const equal: number[] = []
  values.forEach((value, i) => {
    if (value === least) equal.push(i)
  })
  return Int32Array.from([...best.filter((i) => values[i] > least), ...equal])
}

/**
 * The fewest tokens, the most probable ones, that together have the share topP of what topK keeps.
 *
 * @param all the tokens that topK keeps, the best first; null: all
 * @param best the most probable tokens, the best first
 */
function nucleus(
  probabilities: Float32Array,
  all: Int32Array | null,
  best: Int32Array,
  topP: number,
): Int32Array {
  const ordered = all ?? best
  const share = topP * (all === null ? 1 : sumOf(probabilities, all))
  let reached = 0
  for (let i = 0; i < ordered.length; i++) {
    reached += probabilities[ordered[i]]
    if (reached >= share) return ordered.subarray(0, i + 1)
  }
  return all ?? largeNucleus(probabilities, share)
}

/** @returns the fewest tokens with this share, ascending; of equal ones the lower */
function largeNucleus(probabilities: Float32Array, share: number): Int32Array {
  // All tokens below this bound have less than 1 - share together. So the others reach the share.
  const possible = probabilities.filter((probability) => probability >= (1 - share) / probabilities.length)
  possible.sort()
  let reached = 0
  let i = possible.length
  while (i > 0 && reached < share) reached += possible[--i]
  const least = possible[i]
  let equals = possible.length - i // so many tokens are kept; below, how many of them have the least
  for (const probability of possible.subarray(i)) if (probability > least) equals--
  const kept: number[] = []
  probabilities.forEach((probability, token) => {
    if (probability > least || (probability === least && equals-- > 0)) kept.push(token)
  })
  return Int32Array.from(kept)
}

/** In float64 and in order. */
const sumOf = (probabilities: Float32Array, tokens: Int32Array): number =>
  tokens.reduce((sum, token) => sum + probabilities[token], 0)

/** The first token at which the sum is larger than `target`, which is less than `sumOf` them. */
function pickAmong(probabilities: Float32Array, tokens: Int32Array, target: number): number {
  let reached = 0
  let i = -1
  while (reached <= target) reached += probabilities[tokens[++i]]
  return tokens[i]
}

/**
 * @param sums the sum of each block
 * @param target less than the sum of all, 0 or more
 * @returns the first token at which the sum is larger
 */
function pick(probabilities: Float32Array, sums: Float32Array, target: number): number {
  let block = 0
  let reached = 0
  while (reached + sums[block] <= target) reached += sums[block++]
  let token = 0
  for (let i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
    if (probabilities[i] === 0) continue
    token = i // the last one, where the block's sum was rounded up
    reached += probabilities[i]
    if (reached > target) break
  }
  return token
}
