// GPT-2's feed-forward network in a worker: it draws 4.7 million weights and is timed there, and the page stays quick.

import { load } from 'gpt-layers'
import plainUrl from 'plain.wasm?url'
import { expose } from '../../worker.js'
import { create, look, plain, time } from './compute.js'

const MOST_THREADS = 4

/** @typedef {{ name: string, median: number, lower: number, upper: number, off: number }} Timing off: from the plain C */

/** @type {ReturnType<typeof load> | undefined} */
let loaded

expose({
  /** @param {number} seed */
  async look(seed) {
    loaded ??= load()
    return look(await loaded, seed)
  },

  /**
   * @param {number} seed
   * @param {(timing: Timing) => unknown} ontiming is told of each build as it was timed
   * @returns {Promise<string[]>} why some were not, in sentences
   */
  async measure(seed, ontiming) {
    const reasons = []
    const reference = plain(await WebAssembly.compileStreaming(fetch(plainUrl)), create(await load(), seed))
    await ontiming({ name: 'plain C', ...time(reference.run), off: 0 })
    const expected = reference.y()
    const threads = Math.min(MOST_THREADS, navigator.hardwareConcurrency ?? 1)
    for (const wanted of threads > 1 ? [1, threads] : [1]) {
      for (const build of /** @type {const} */ (['simd', 'relaxed'])) {
        try {
          const gpt = await load({ build, threads: wanted })
          if (gpt.threads !== wanted) {
            reasons.push(
              `Threads cannot be had here: ${crossOriginIsolated ? 'the browser gives none' : 'the page is not cross-origin isolated'}.`,
            )
            return reasons
          }
          const { layer, x } = create(gpt, seed)
          const run = () => gpt.scope(() => void layer.forward(x))
          const y = gpt.scope(() => layer.forward(x).data.slice())
          const off = y.reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i])), 0)
          await ontiming({ name: wanted === 1 ? build : `${build}, ${wanted} threads`, ...time(run), off })
          layer.dispose()
        } catch (error) {
          if (wanted === 1) reasons.push(`${build}: ${/** @type {Error} */ (error).message}.`)
        }
      }
    }
    if (threads === 1) reasons.push('This machine has one processor, so threads would gain nothing.')
    return reasons
  },
})
