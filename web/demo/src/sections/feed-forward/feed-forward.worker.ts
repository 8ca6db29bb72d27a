// Runs GPT-2's feed-forward network in a worker: drawing its 4.7 million weights and timing it would block
// the page.

import { load } from 'gpt-layers'
import { messageOf } from '../../errors.ts'
import { loadPlainFeedForward } from '../../plain.ts'
import { expose } from '../../remote.ts'
import { create, look, time, weightsOf } from './compute.ts'

const MOST_THREADS = 4

export interface Timing {
  /** The name of the build. */
  name: string
  /** Milliseconds per call. */
  median: number
  /** Quartile. */
  lower: number
  /** Quartile. */
  upper: number
  /** Largest difference of an output from the plain C's. */
  off: number
}

let loaded: ReturnType<typeof load> | undefined
let drawn: { seed: number; network: ReturnType<typeof create> } | undefined

const lab = {
  /** @param deviation of the token's row */
  async look(seed: number, deviation: number) {
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
   * @param ontiming called after each build
   * @returns sentences that say why a build was not timed
   */
  async measure(seed: number, ontiming: (timing: Timing) => unknown): Promise<string[]> {
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
      for (const build of ['simd', 'relaxed'] as const) {
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
          if (wanted === 1) reasons.push(`${build}: ${messageOf(error)}.`)
        }
      }
    }
    if (threads === 1) reasons.push('This machine has one processor, so threads would gain nothing.')
    return reasons
  },
}
expose(lab)

export type Lab = typeof lab
