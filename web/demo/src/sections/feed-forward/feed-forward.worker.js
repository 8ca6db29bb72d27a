// Runs GPT-2's feed-forward network in a worker: drawing its 4.7 million weights and timing it would block
// the page.

import { load } from 'gpt-layers'
import { loadPlainFeedForward } from '../../plain.js'
import { expose } from '../../remote.js'
import { create, look, time, weightsOf } from './compute.js'

const MOST_THREADS = 4

/**
 * @typedef {object} Timing
 * @property {string} name of the build
 * @property {number} median milliseconds per call
 * @property {number} lower quartile
 * @property {number} upper quartile
 * @property {number} off largest difference of an output from the plain C's
 */

/** @type {ReturnType<typeof load> | undefined} */
let loaded
/** @type {{ seed: number, network: ReturnType<typeof create> } | undefined} */
let drawn

const lab = {
  /** @param {number} seed @param {number} deviation of the token's row */
  async look(seed, deviation) {
    loaded ??= load()
    const gpt = await loaded
    if (drawn?.seed !== seed) {
      drawn?.network.layer.dispose()
      drawn?.network.x.dispose()
      drawn = { seed, network: create(gpt, seed) }
    }
    return look(gpt, drawn.network, deviation)
  },

  /**
   * Times the plain C, then each build of the package.
   *
   * @param {number} seed
   * @param {(timing: Timing) => unknown} ontiming called after each build
   * @returns {Promise<string[]>} sentences that say why a build was not timed
   */
  async measure(seed, ontiming) {
    const reasons = []
    const first = await load()
    const network = create(first, seed)
    const input = network.x.data.slice()
    const rows = input.length / network.layer.embDim
    const weights = weightsOf(network.layer)
    first.dispose()
    const plain = await loadPlainFeedForward(weights, rows)
    const expected = plain(input)
    await ontiming({ name: 'plain C', ...time(() => void plain(input)), off: 0 })
    const threads = Math.min(MOST_THREADS, navigator.hardwareConcurrency ?? 1)
    for (const wanted of threads > 1 ? [1, threads] : [1]) {
      for (const build of /** @type {const} */ (['simd', 'relaxed'])) {
        try {
          const gpt = await load({ build, threads: wanted })
          try {
            if (gpt.threads !== wanted) {
              reasons.push(`Threads cannot be had here: ${gpt.threadsReason}.`)
              return reasons
            }
            const { layer, x } = create(gpt, seed)
            const run = () => gpt.noGrad(() => gpt.scope(() => void layer.forward(x)))
            const y = gpt.noGrad(() => gpt.scope(() => layer.forward(x).data.slice()))
            const off = y.reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i])), 0)
            await ontiming({ name: wanted === 1 ? build : `${build}, ${wanted} threads`, ...time(run), off })
          } finally {
            gpt.dispose()
          }
        } catch (error) {
          if (wanted === 1) reasons.push(`${build}: ${/** @type {Error} */ (error).message}.`)
        }
      }
    }
    if (threads === 1) reasons.push('This machine has one processor, so threads would gain nothing.')
    return reasons
  },
}
expose(lab)

/** @typedef {typeof lab} Lab */
