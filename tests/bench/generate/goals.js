// What is asked of the package, each beside the figure that was measured.

/** @import { Row as LayerRow } from '../contest.js' */
/** @import { Figure, Row } from './contest.js' */
/** @import { OWN_WEIGHTS } from './labels.js' */
/** @import { Share } from './share.js' */

import { BUILDS } from '../ours.js'
import { ENGINES } from './labels.js'

/**
 * @typedef {Row & { run: number }} RunRow run: the number of threads of the peers in the same run
 * @typedef {{ rows: RunRow[], shares: Share[], layers: LayerRow[] }} Figures
 * @typedef {{ goal: string, against: string, bound: number, atMost?: boolean, percent?: boolean,
 *   measured: Record<string, number | undefined> }} Goal measured: by build
 */

const { ours: OURS, onnxruntime: ONNXRUNTIME, wllama: WLLAMA, llama: LLAMA } = ENGINES

/**
 * @param {RunRow[]} rows
 * @param {Figure} figure
 * @param {Partial<RunRow>} label
 * @returns {number} tokens per second of the fastest row with this label; NaN where there is none
 */
function rate(rows, figure, label) {
  const entries = Object.entries(label)
  const found = rows.filter((row) =>
    entries.every(([key, value]) => row[/** @type {keyof RunRow} */ (key)] === value),
  )
  const rates = found.flatMap(({ seconds }) => (seconds[figure] === undefined ? [] : 1 / seconds[figure]))
  return rates.length > 0 ? Math.max(...rates) : NaN
}

/** @param {(build: string) => number | undefined} measure */
const byBuild = (measure) => {
  const entries = BUILDS.map((build) => [build, measure(build)])
  return Object.fromEntries(entries.filter(([, value]) => Number.isFinite(value)))
}

const NAMES = { prompt: 'prompt of 128', at32: 'writing at 32', at512: 'writing at 512' }

/** @param {Figures} figures @returns {Goal[]} those of which something was measured */
export function goals({ rows, shares, layers }) {
  const one = { run: 1, threads: 1 }
  /**
   * Ours beside a peer, on one thread.
   *
   * @param {typeof OWN_WEIGHTS[number]} weights ours
   * @param {Figure} figure
   * @param {string} against
   * @param {number} bound
   * @param {Partial<RunRow>} peer
   * @returns {Goal}
   */
  const beside = (weights, figure, against, bound, peer) => ({
    goal: `${weights}, ${NAMES[figure]}`,
    against,
    bound,
    measured: byBuild(
      (build) =>
        rate(rows, figure, { ...one, engine: OURS, weights, build }) /
        rate(rows, figure, { ...one, ...peer }),
    ),
  })
  const writing = /** @type {const} */ (['at32', 'at512'])
  /**
   * @param {typeof OWN_WEIGHTS[number]} weights
   * @param {Figure} figure
   * @param {number} bound
   * @returns {Goal}
   */
  const threads = (weights, figure, bound) => ({
    goal: `${weights}, ${NAMES[figure]}, two threads`,
    against: 'one thread',
    bound,
    measured: byBuild((build) => {
      const ours = { run: 2, engine: OURS, weights, build }
      return rate(rows, figure, { ...ours, threads: 2 }) / rate(rows, figure, { ...ours, threads: 1 })
    }),
  })
  /** @param {(share: Share) => number} of */
  const shared = (of) =>
    byBuild((build) => {
      const found = shares.find((share) => share.build === build)
      return found && of(found)
    })
  /** @param {string} operation @param {number} tokens @param {number} bound @returns {Goal} */
  const layer = (operation, tokens, bound) => ({
    goal: `float32, ${operation}, ${tokens} ${tokens === 1 ? 'row' : 'rows'}`,
    against: ONNXRUNTIME,
    bound,
    measured: byBuild((build) => {
      const found = layers.find(
        (row) => row.operation === operation && row.tokens === tokens && row.build === build,
      )
      return found?.ours ? (found.peers?.onnxruntime ?? NaN) / found.ours : NaN
    }),
  })

  const CACHE_TOO = 'int8, cache too'
  /** @type {Goal[]} */
  const all = [
    ...writing.map((figure) =>
      beside(CACHE_TOO, figure, 'wllama Q8_0', 6, { engine: WLLAMA, weights: 'Q8_0' }),
    ),
    ...writing.map((figure) =>
      beside(CACHE_TOO, figure, 'onnxruntime-web, the best of float32 and int8', 4.5, {
        engine: ONNXRUNTIME,
      }),
    ),
    ...writing.map((figure) =>
      beside(CACHE_TOO, figure, `${LLAMA}, Q8_0`, 1.3, { engine: LLAMA, weights: 'Q8_0' }),
    ),
    ...writing.map((figure) =>
      beside('float32', figure, 'onnxruntime-web float32', 1.5, { engine: ONNXRUNTIME, weights: 'float32' }),
    ),
    beside('float32', 'prompt', 'onnxruntime-web float32', 1.75, { engine: ONNXRUNTIME, weights: 'float32' }),
    beside('float32', 'prompt', `${LLAMA}, float32`, 0.85, { engine: LLAMA, weights: 'float32' }),
    beside('int8', 'prompt', `${LLAMA}, Q8_0`, 0.9, { engine: LLAMA, weights: 'Q8_0' }),
    beside('int8', 'prompt', 'onnxruntime-web int8', 1.4, { engine: ONNXRUNTIME, weights: 'int8' }),
    {
      goal: 'int8, the matrix products alone',
      against: 'a bare read of as many bytes',
      bound: 0.85,
      percent: true,
      measured: shared(({ ofRead }) => ofRead),
    },
    threads(CACHE_TOO, 'at32', 1.5),
    threads(CACHE_TOO, 'at512', 1.4),
    threads('float32', 'at32', 1.2),
    threads('int8', 'prompt', 1.8),
    threads('float32', 'prompt', 1.8),
    {
      goal: 'int8, writing at 32, all but the matrix products',
      against: 'the time of a token',
      bound: 0.05,
      percent: true,
      atMost: true,
      measured: shared(({ rest32 }) => rest32),
    },
    layer('FeedForward', 1, 1),
    layer('Attention', 1, 1),
    layer('FeedForward', 6, 1.2),
    layer('Attention', 6, 1.2),
  ]
  return all.filter(({ measured }) => Object.keys(measured).length > 0)
}

/** @param {Goal} goal @returns {boolean} whether the fastest build meets it */
export function isMet({ bound, atMost, measured }) {
  const values = Object.values(measured).map(Number)
  return atMost ? Math.min(...values) <= bound : Math.max(...values) >= bound
}
