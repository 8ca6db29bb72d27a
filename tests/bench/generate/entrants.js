// The contestants that run in Node and in pages alike.

/** @import { GPTModel, Gpt } from '../../../dist/index.js' */
/** @import { Entrant } from './contest.js' */
/** @import { Config } from './model.js' */
/** @import { Ort } from './onnxruntime.js' */

import { BUILDS, open, restAfter } from '../ours.js'
import { ENGINES, OWN_WEIGHTS, WEIGHTS } from './labels.js'
import { openOnnxruntime } from './onnxruntime.js'
import { openOurs } from './ours.js'

// The threads of the peers spin for 10 to 25 ms after a run. Without a pause they would take the second core
// from the next contestant.
const SPIN = 0.03

/** @param {number} threads @returns {number} seconds to wait after a sample of a peer */
export const restOfPeer = (threads) => (threads > 1 ? SPIN : 0)

/** A model of ours that takes part. @typedef {{ gpt: Gpt, model: GPTModel }} OwnModel */

/**
 * @param {Config} config
 * @param {number} threads the threads of the peers; ours take part with each number up to it
 * @param {Map<Entrant, OwnModel>} models gets ours, once they are open
 * @returns {Promise<{ entrants: Entrant[], notes: string[] }>} notes: why a build does not take part
 */
export async function ourEntrants(config, threads, models) {
  /** @type {Entrant[]} */
  const entrants = []
  /** @type {string[]} */
  const notes = []
  for (let own = 1; own <= threads; own++) {
    for (const build of BUILDS) {
      const opened = await open({ build, threads: own })
      if ('note' in opened) notes.push(`Not run: ${opened.note}`)
      else entrants.push(...OWN_WEIGHTS.map((weights) => ourEntrant(config, opened.gpt, weights, models)))
    }
  }
  return { entrants, notes }
}

/**
 * @param {Config} config
 * @param {Gpt} gpt
 * @param {typeof OWN_WEIGHTS[number]} weights
 * @param {Map<Entrant, OwnModel>} models
 */
function ourEntrant(config, gpt, weights, models) {
  /** @type {Entrant} */
  const entrant = {
    engine: ENGINES.ours,
    weights,
    build: gpt.build,
    threads: gpt.threads,
    rest: restAfter(gpt.threads),
    async open() {
      const { model, writer } = await openOurs(gpt, config, weights)
      models.set(entrant, { gpt, model })
      return writer
    },
  }
  return entrant
}

/** @param {Ort} ort @param {Config} config @param {number} threads @returns {Entrant[]} */
export function onnxruntimeEntrants(ort, config, threads) {
  ort.env.wasm.numThreads = threads
  ort.env.logLevel = 'error' // It warns of weights that it has replaced by packed ones.
  return WEIGHTS.map((weights) => ({
    engine: ENGINES.onnxruntime,
    weights,
    build: '',
    threads,
    rest: restOfPeer(threads),
    open: () => openOnnxruntime(ort, config, weights),
  }))
}
