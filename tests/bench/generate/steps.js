// What a contestant does, and how one that computes a forward pass per call does it.

/**
 * A contestant. Its cache holds a text.
 *
 * @typedef {object} Writer
 * @property {(text: string) => unknown} hold makes the cache hold exactly this text
 * @property {(text: string, count: number) => Promise<number[]>} write appends the text to the cache and
 *   writes `count` tokens, always the most probable one. It computes `count` forward passes: one for the text
 *   and one for each token but the last.
 * @property {(text: string) => Promise<Map<number, number>>} judge the logarithms of the probabilities of the
 *   next token, after this text: of all tokens, or of the most probable ones
 * @property {() => unknown} dispose
 */

import { tokensOf } from './model.js'

/** @param {Float32Array} values @returns {number} where the largest one is */
export function argmax(values) {
  let best = 0
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i
  return best
}

/** @param {Float32Array} logits */
function logProbabilities(logits) {
  const largest = logits[argmax(logits)]
  const sum = logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0)
  return new Map(Array.from(logits, (logit, i) => [i, logit - largest - Math.log(sum)]))
}

/**
 * @param {object} engine
 * @param {(ids: Int32Array) => Float32Array | Promise<Float32Array>} engine.forward appends the tokens to the
 *   cache; returns the last one's logits
 * @param {(length: number) => void} engine.truncate the cache
 * @param {() => unknown} engine.dispose
 * @returns {Writer}
 */
export function steps({ forward, truncate, dispose }) {
  let held = ''
  const keep = (/** @type {number} */ length) => {
    held = held.slice(0, length)
    truncate(length)
  }

  /** @param {string} text */
  async function hold(text) {
    let common = 0
    while (common < text.length && text[common] === held[common]) common++
    keep(common)
    if (common < text.length) await forward(tokensOf(text.slice(common)))
    held = text
  }

  return {
    hold,
    async write(text, count) {
      /** @type {number[]} */
      const written = []
      for (
        let ids = tokensOf(text);
        written.length < count;
        ids = Int32Array.of(written[written.length - 1])
      ) {
        const pending = forward(ids)
        written.push(argmax(pending instanceof Promise ? await pending : pending))
      }
      return written
    },
    async judge(text) {
      keep(0)
      const logits = await forward(tokensOf(text))
      held = text
      return logProbabilities(logits)
    },
    dispose,
  }
}
