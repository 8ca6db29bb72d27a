// One contest in a page.

/** @import { Build } from '../../../dist/index.js' */
/** @import { Entrant } from './contest.js' */
/** @import { Message } from './program.js' */
/** @import { Task } from './browser.js' */

import * as ort from 'onnxruntime-web/wasm'
import { contest } from './contest.js'
import { onnxruntimeEntrants, ourEntrants, restOfPeer } from './entrants.js'
import { ENGINES, FORMATS } from './labels.js'
import { openWllama } from './wllama.js'

/** Defined by browser.js. memory: the bytes of the browser's pages that are in memory. */
const { memory } = /** @type {{ memory: () => Promise<number> }} */ (/** @type {unknown} */ (globalThis))

/** @param {Task} task @param {(message: Message) => unknown} report */
export async function generate({ threads, effort, only, config }, report) {
  const { entrants: ours, notes } = await ourEntrants(config, threads, new Map())
  for (const note of notes) await report({ note })
  /** @type {Entrant[]} */
  const entrants = [
    ...ours,
    ...onnxruntimeEntrants(ort, config, threads),
    ...FORMATS.map((weights) => ({
      engine: ENGINES.wllama,
      weights,
      build: '',
      threads,
      rest: restOfPeer(threads),
      memory,
      open: () => openWllama(config, weights, threads),
    })),
  ]
  await contest(
    { threads, effort, only },
    entrants,
    (row) => report({ row: { ...row, run: threads } }),
    (note) => report({ note }),
  )
}
