/** @import { Tensor } from '../tensor/tensor.js' */

import { GptLayersError } from '../errors.js'

/** The most candidates that are returned beside a token. */
const TOP = 10

/** The number of tokens that nucleus sampling looks at first. */
const FIRST_LOOK = 64

/**
 * @typedef {object} Candidate
 * @property {number} token
 * @property {number} probability from 0 to 1
 */

/**
 * A token of `generate`. The probabilities are those of the distribution that the token is drawn from; with
 * temperature 0, those of temperature 1.
 *
 * @typedef {object} Candidates
 * @property {readonly Candidate[]} top the 10 most probable tokens that could be drawn, the best first
 *
 * @typedef {Candidate & Candidates} GeneratedToken
 */

/**
 * How tokens are drawn, as `generate` takes it; topK is Infinity where there is none.
 *
 * @typedef {{ temperature: number, topK: number, topP: number, repetitionPenalty: number }} Sampling
 */

/**
 * Draws a token. The steps and their order are those of Hugging Face's transformers: penalty, temperature,
 * topK, topP. Exponentials come from our kernels, because those of JavaScript differ between engines; sums
 * are float64 in a fixed order.
 *
 * @param {string} where
 * @param {Tensor} logits [1, vocabSize]; changed by the penalty
 * @param {Iterable<number>} text the tokens that the penalty applies to, each once
 * @param {Sampling} sampling
 * @param {() => number} random a number in [0, 1); called where a token is drawn, so not with temperature 0
 * @returns {GeneratedToken}
 * @throws {GptLayersError} VALUE where a logit is NaN or Infinity, MEMORY
 */
export function sampleToken(where, logits, text, { temperature, topK, topP, repetitionPenalty }, random) {
  if (repetitionPenalty !== 1) penalize(logits.data, text, repetitionPenalty)
  const best = largest(logits.data, topK < logits.size ? Math.max(topK, TOP) : TOP)
  const probabilities = softmax(where, logits, best[0], temperature || 1).data
  if (!(probabilities[best[0]] > 0)) {
    const expected = 'finite numbers or -Infinity, and not all -Infinity'
    throw new GptLayersError('VALUE', `${where}: the model's logits should be ${expected}`)
  }
  const kept = keep(logits.data, probabilities, topK < logits.size ? best.subarray(0, topK) : null, topP)
  const total = sum(probabilities, kept)
  const candidate = (/** @type {number} */ token) => ({ token, probability: probabilities[token] / total })
  const token = temperature === 0 ? best[0] : pick(probabilities, kept, random() * total)
  return { ...candidate(token), top: Array.from((kept ?? best).subarray(0, TOP), candidate) }
}

/**
 * The penalty of CTRL (Keskar et al. 2019, arXiv:1909.05858), where it works for negative logits, too.
 *
 * @param {Float32Array} logits changed here
 * @param {Iterable<number>} text
 * @param {number} penalty
 */
function penalize(logits, text, penalty) {
  for (const token of text) {
    const logit = logits[token]
    logits[token] = logit < 0 ? logit * penalty : logit / penalty
  }
}

/**
 * @param {string} where
 * @param {Tensor} logits
 * @param {number} best the token of the largest one
 * @param {number} temperature
 * @returns {Tensor} softmax(logits / temperature)
 */
function softmax(where, logits, best, temperature) {
  const { runtime, size } = logits
  // Without the subtraction a quotient might not be finite.
  const scaled = temperature === 1 ? logits : logits.sub(logits.data[best]).div(temperature)
  const y = logits.empty(where, logits.shape)
  runtime.run('gpt_softmax_forward', [y, scaled, 1, size])
  return y
}

/**
 * @param {Float32Array} values
 * @param {number} count
 * @param {Int32Array} [among] the indices to choose from, ascending; all by default
 * @returns {Int32Array} the indices of the `count` largest values, the largest first; of equal ones the lower
 *   index. Fewer where there are fewer; without those of NaN
 */
function largest(values, count, among) {
  const n = among?.length ?? values.length
  const heap = new Int32Array(Math.min(count, n)) // the root is the worst of the best so far
  let size = 0
  for (let j = 0; j < n; j++) {
    const index = among === undefined ? j : among[j]
    const value = values[index]
    if (size === heap.length) {
      if (!(value > values[heap[0]])) continue
      heap[0] = index
      sink(heap, 0, values)
    } else if (!Number.isNaN(value)) {
      heap[size++] = index
      if (size < heap.length) continue
      for (let root = (size >> 1) - 1; root >= 0; root--) sink(heap, root, values)
    }
  }
  return heap.subarray(0, size).sort((a, b) => values[b] - values[a] || a - b)
}

/**
 * Moves an index of a heap down to its place.
 *
 * @param {Int32Array} heap
 * @param {number} root where it is
 * @param {Float32Array} values
 */
function sink(heap, root, values) {
  const index = heap[root]
  const isWorse = (/** @type {number} */ a, /** @type {number} */ b) =>
    values[a] < values[b] || (values[a] === values[b] && a > b)
  for (;;) {
    let child = 2 * root + 1
    if (child + 1 < heap.length && isWorse(heap[child + 1], heap[child])) child++
    if (child >= heap.length || !isWorse(heap[child], index)) break
    heap[root] = heap[child]
    root = child
  }
  heap[root] = index
}

/**
 * @param {Float32Array} logits
 * @param {Float32Array} probabilities
 * @param {Int32Array | null} best the tokens that topK keeps, the best first; null: all
 * @param {number} topP
 * @returns {Int32Array | null} the tokens that can be drawn, the best first; null: all, as they are
 */
function keep(logits, probabilities, best, topP) {
  if (topP === 1) return best
  if (best !== null) return nucleus(probabilities, best, topP * sum(probabilities, best)) ?? best
  // The tokens below this have less than 1 - topP together.
  const least = (1 - topP) / probabilities.length
  const candidates = Int32Array.from(probabilities.keys()).filter((token) => probabilities[token] >= least)
  for (let count = FIRST_LOOK; ; count *= 8) {
    const first = largest(logits, count, candidates)
    const kept = nucleus(probabilities, first, topP)
    if (kept !== null || count >= candidates.length) return kept ?? first
  }
}

/**
 * @param {Float32Array} probabilities
 * @param {Int32Array} best tokens, the best first
 * @param {number} share
 * @returns {Int32Array | null} the fewest of them whose probabilities add up to the share, or null
 */
function nucleus(probabilities, best, share) {
  let reached = 0
  for (let i = 0; i < best.length; i++) {
    reached += probabilities[best[i]]
    if (reached >= share) return best.subarray(0, i + 1)
  }
  return null
}

/**
 * @param {Float32Array} probabilities
 * @param {Int32Array | null} tokens null: all
 * @returns {number} the sum, in float64 and in order
 */
function sum(probabilities, tokens) {
  let total = 0
  if (tokens === null) for (let i = 0; i < probabilities.length; i++) total += probabilities[i]
  else for (const token of tokens) total += probabilities[token]
  return total
}

/**
 * @param {Float32Array} probabilities
 * @param {Int32Array | null} tokens null: all
 * @param {number} target from 0 to less than `sum` of them
 * @returns {number} the first token at which their sum is larger
 */
function pick(probabilities, tokens, target) {
  let reached = 0
  let i = -1
  while (reached <= target) reached += probabilities[tokens === null ? ++i : tokens[++i]]
  return tokens === null ? i : tokens[i]
}
