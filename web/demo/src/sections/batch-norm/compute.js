// Runs one batch through three norms. Uses only the package.

/** @import { Gpt, Tensor } from 'gpt-layers' */
/** @import { NormName } from './slice.js' */

import { BATCH, FEATURES } from './slice.js'

export const EPS = 1e-5
/** How many batches batch norm has seen in training before it is evaluated. */
export const BATCHES_BEFORE = 100

/**
 * @typedef {object} Drawn
 * @property {number[][]} x the largest batch there is, [8][5]
 * @property {Float32Array} runningMean what batch norm kept from the batches before
 * @property {Float32Array} runningVar
 *
 * @typedef {object} Normed
 * @property {number[][]} values
 * @property {number[]} mean of each row, or column; none for RMSNorm
 * @property {number[]} spread of each: its variance, or, for RMSNorm, its mean square
 */

/**
 * Draws a batch whose features differ in mean and deviation, as a layer's outputs do, and computes batch
 * norm's running statistics from the batches before it.
 *
 * @param {Gpt} gpt
 * @param {number} seed
 * @returns {Drawn}
 */
export function draw(gpt, seed) {
  return gpt.scope(() => {
    gpt.manualSeed(seed)
    const deviation = gpt.rand([FEATURES]).mul(1.5).add(0.5)
    const mean = gpt.randn([FEATURES])
    const batch = () => gpt.randn([BATCH.max, FEATURES]).mul(deviation).add(mean)
    const x = /** @type {number[][]} */ (batch().toArray())
    const norm = new gpt.BatchNorm(FEATURES)
    for (let i = 0; i < BATCHES_BEFORE; i++) norm.forward(batch())
    return { x, runningMean: norm.runningMean.data.slice(), runningVar: norm.runningVar.data.slice() }
  })
}

/**
 * @param {Gpt} gpt
 * @param {NormName} name
 * @param {number[][]} values of the batch, [samples][5]
 * @param {Drawn | null} running what batch norm is evaluated with; null while training
 * @returns {Normed | null} null for batch norm in training with a single sample, which it refuses
 */
export function normalise(gpt, name, values, running) {
  if (name === 'batch' && !running && values.length < 2) return null
  return gpt.scope(() => {
    const x = gpt.tensor(values)
    const list = (/** @type {Tensor} */ tensor) => Array.from(tensor.data)
    const result = (
      /** @type {Tensor} */ y,
      /** @type {number[]} */ mean,
      /** @type {number[]} */ spread,
    ) => ({
      values: /** @type {number[][]} */ (y.toArray()),
      mean,
      spread,
    })
    const statistics = (/** @type {number} */ dim) =>
      /** @type {const} */ ([list(x.mean({ dim })), list(x.var({ dim, unbiased: false }))])
    if (name === 'layer')
      return result(new gpt.LayerNorm(FEATURES, { eps: EPS }).forward(x), ...statistics(-1))
    if (name === 'rms') {
      const y = new gpt.RMSNorm(FEATURES, { eps: EPS }).forward(x)
      return result(y, [], list(x.mul(x).mean({ dim: -1 })))
    }
    const norm = new gpt.BatchNorm(FEATURES, { eps: EPS })
    if (!running) return result(norm.forward(x), ...statistics(0))
    norm.runningMean.data.set(running.runningMean)
    norm.runningVar.data.set(running.runningVar)
    norm.eval()
    return result(norm.forward(x), Array.from(running.runningMean), Array.from(running.runningVar))
  })
}
