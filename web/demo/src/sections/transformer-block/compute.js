// Runs a small GPT on a line of characters: the input and output of each norm, the attention weights of each
// head, and the most likely next character. Uses only the package.

/** @import { Gpt } from 'gpt-layers' */

import { CONFIG, FIRST } from './config.js'

/** The text that the model learns: Jane Taylor, The Star, 1806. */
export const RHYME =
  'twinkle, twinkle, little star, how i wonder what you are! up above the world so high, like a diamond in the sky. ' +
  'twinkle, twinkle, little star, how i wonder what you are! '

const BATCH = 8
const RATE = 2e-3

/** @typedef {InstanceType<Gpt['GPTModel']>} Model */
/** @typedef {{ rows: number[][], mean: number[], variance: number[] }} Rows one row per token */

/** @param {string} text @returns {number[]} */
const encode = (text) => Array.from(text, (character) => character.charCodeAt(0) - FIRST)

/** @param {Gpt} gpt @param {number} seed @returns {Model} in evaluation mode */
export function create(gpt, seed) {
  gpt.manualSeed(seed)
  const model = new gpt.GPTModel(CONFIG)
  model.eval()
  return model
}

/**
 * Trains a new model on the rhyme, window by window.
 *
 * @param {Gpt} gpt
 * @param {number} seed of the weights, and then of the windows
 * @param {number} steps
 * @param {(at: { step: number, loss: number, model: Model }) => unknown} onprogress is awaited after each
 *   step
 * @returns {Promise<Model>} in evaluation mode
 */
export async function train(gpt, seed, steps, onprogress) {
  const model = create(gpt, seed)
  const optimizer = new gpt.AdamW(model.parameters(), { lr: RATE })
  const length = CONFIG.contextLength
  const ids = encode(RHYME)
  for (let step = 1; step <= steps; step++) {
    model.train()
    const loss = gpt.scope(() => {
      const starts = Array.from(gpt.rand([BATCH]).data, (share) => Math.floor(share * (ids.length - length)))
      const windows = (/** @type {number} */ offset) =>
        starts.map((start) => ids.slice(start + offset, start + offset + length))
      const loss = gpt.crossEntropy(model.forward(windows(0)), windows(1))
      model.zeroGrad()
      model.backward(loss.backward())
      optimizer.step()
      return loss.item()
    })
    model.eval()
    await onprogress({ step, loss, model })
  }
  return model
}

/**
 * @param {Gpt} gpt
 * @param {Model} model
 * @param {string} text 1 to contextLength tokens
 * @returns {{
 *   norms: { input: Rows, output: Rows }[], weights: number[][][][], next: { token: string, share: number }
 * }} norms: in the order of NORMS; weights: [block][head][query][key]; next: the most likely next character
 */
export function run(gpt, model, text) {
  /** @type {{ input: Rows, output: Rows }[]} */ const norms = []
  /** @type {number[][][][]} */ const weights = []
  const stop = model.onForward(({ module, input, output, weights: seen }) => {
    if (module instanceof gpt.LayerNorm) {
      norms.push({
        input: rowsOf(/** @type {import('gpt-layers').Tensor} */ (input)),
        output: rowsOf(output),
      })
    }
    if (seen) weights.push(/** @type {number[][][]} */ (seen.toArray()))
  })
  try {
    const logits = gpt.scope(() =>
      model.forward(encode(text), { returnWeights: true }).data.slice(-CONFIG.vocabSize),
    )
    return { norms, weights, next: likeliest(logits) }
  } finally {
    stop()
  }
}

/** @param {Float32Array} logits @returns {{ token: string, share: number }} the share by softmax */
function likeliest(logits) {
  const best = logits.reduce((best, logit, token) => (logit > logits[best] ? token : best), 0)
  const sum = logits.reduce((sum, logit) => sum + Math.exp(logit - logits[best]), 0)
  return { token: String.fromCharCode(FIRST + best), share: 1 / sum }
}

/** @param {import('gpt-layers').Tensor} x [tokens, embDim] @returns {Rows} */
const rowsOf = (x) => ({
  rows: /** @type {number[][]} */ (x.toArray()),
  mean: Array.from(x.mean({ dim: -1 }).data),
  variance: Array.from(x.var({ dim: -1, unbiased: false }).data),
})
