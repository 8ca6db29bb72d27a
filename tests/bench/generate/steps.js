// What a contestant does, and how one that computes a forward pass per call does it.

/**
 * @typedef {{ engine: string, weights: string, build: string, threads: number }} Label build: ours; '' for a
 *   peer
 */

/** @param {Omit<Label, 'threads'>} label @returns {string} what the option --only looks at */
export const nameOf = ({ engine, weights, build }) => [engine, weights, build].filter(Boolean).join(' ')

/** What each engine is measured with. "cache too": keys and values in int8; otherwise ours are in float32. */
export const WEIGHTS = {
  ours: /** @type {const} */ (['float32', 'int8', 'int8, cache too']),
  onnxruntime: /** @type {const} */ (['float32', 'int8']),
  llama: /** @type {const} */ (['float32', 'Q8_0']),
}

/**
 * A contestant. Its cache holds a text: the ids of its tokens.
 *
 * @typedef {object} Writer
 * @property {(ids: number[]) => unknown} hold makes the cache hold exactly this text
 * @property {(ids: number[], count: number) => Promise<number[]>} write appends the text to the cache and
 *   writes `count` tokens, always the most probable one. It computes `count` forward passes: one for the text
 *   and one for each token but the last.
 * @property {(ids: number[]) => Promise<Map<number, number>>} judge the logarithms of the probabilities of the
 *   next token, after this text: of all tokens, or of the most probable ones
 */

/** @param {number[]} a @param {number[]} b @returns {number} how many ids both begin with */
export function common(a, b) {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

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
 * @returns {Writer}
 */
export function steps({ forward, truncate }) {
  /** @type {number[]} */
  let held = []
  const keep = (/** @type {number} */ length) => {
    held = held.slice(0, length)
    truncate(length)
  }

  return {
    async hold(ids) {
      const length = common(ids, held)
      keep(length)
      if (length < ids.length) await forward(Int32Array.from(ids.slice(length)))
      held = ids
    },
    async write(ids, count) {
      /** @type {number[]} */
      const written = []
      for (let next = ids; written.length < count; next = written.slice(-1)) {
        const pending = forward(Int32Array.from(next))
        written.push(argmax(pending instanceof Promise ? await pending : pending))
      }
      return written
    },
    async judge(ids) {
      keep(0)
      const logits = await forward(Int32Array.from(ids))
      held = ids
      return logProbabilities(logits)
    },
  }
}
