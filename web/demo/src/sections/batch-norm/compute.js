// Runs one batch through three norms. Uses only the package.

/** @import { Gpt } from 'gpt-layers' */
/** @import { NormName } from './slice.js' */

import { BATCH, FEATURES } from './slice.js'

const EPS = 1e-5
/** How many batches batch norm has seen in training before it is evaluated. */
const BATCHES_BEFORE = 100

/**
 * @typedef {object} Drawn
 * @property {number[][]} x the largest batch there is, [6][5]
 * @property {Float32Array} runningMean what batch norm kept from the batches before
 * @property {Float32Array} runningVar
 *
 * @typedef {{ mean: number, variance: number }} Statistics
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
    const deviation = gpt.rand([FEATURES]).mul(0.9).add(0.3)
    const mean = gpt.randn([FEATURES]).mul(0.8)
    const batch = () => gpt.randn([BATCH.max, FEATURES]).mul(deviation).add(mean)
    const x = /** @type {number[][]} */ (batch().toArray())
    const norm = new gpt.BatchNorm(FEATURES)
    gpt.noGrad(() => {
      for (let i = 0; i < BATCHES_BEFORE; i++) norm.forward(batch())
    })
    return { x, runningMean: norm.runningMean.data.slice(), runningVar: norm.runningVar.data.slice() }
  })
}

/**
 * @param {Gpt} gpt
 * @param {NormName} name
 * @param {number[][]} values of the batch, [samples][5]
 * @param {Drawn | null} running what batch norm is evaluated with; null while training
 * @returns {number[][] | null} null for batch norm in training with a single sample, which it refuses
 */
export function normalize(gpt, name, values, running) {
  if (name === 'batch' && !running && values.length < 2) return null
  return gpt.scope(() => {
    const norm =
      name === 'layer'
        ? new gpt.LayerNorm(FEATURES, { eps: EPS })
        : name === 'rms'
          ? new gpt.RMSNorm(FEATURES, { eps: EPS })
          : batchNorm(gpt, running)
    const y = gpt.noGrad(() => norm.forward(gpt.tensor(values)))
    return /** @type {number[][]} */ (y.toArray())
  })
}

/** @param {Gpt} gpt @param {Drawn | null} running */
function batchNorm(gpt, running) {
  const norm = new gpt.BatchNorm(FEATURES, { eps: EPS })
  if (!running) return norm
  norm.runningMean.data.set(running.runningMean)
  norm.runningVar.data.set(running.runningVar)
  return norm.eval()
}

/**
 * Mean and variance of each row, and of each column.
 *
 * @param {Gpt} gpt
 * @param {number[][]} values
 * @returns {{ rows: Statistics[], columns: Statistics[] }}
 */
export function describe(gpt, values) {
  return gpt.scope(() => {
    const x = gpt.tensor(values)
    const [rows, columns] = [-1, 0].map((dim) => {
      const variance = x.var({ dim, unbiased: false }).data
      return Array.from(x.mean({ dim }).data, (mean, i) => ({ mean, variance: variance[i] }))
    })
    return { rows, columns }
  })
}
