// What is paid besides the arithmetic: to load, and to call.

/** @import { Effort } from './measure.js' */
/** @import { Row, Settings } from './contest.js' */

import { load } from '../../dist/index.js'
import { median, race } from './measure.js'
import { EPS } from './operations.js'
import { BUILDS } from './ours.js'
import { selects } from './select.js'

/** @typedef {{ build: string, threads: number }} LoadOptions */

const LOAD_FIRST = 'load(), first'
const LOAD_AGAIN = 'load(), again'
const CALL = 'JS around a call'

/** How often to load. @param {Effort} effort */
const loads = ({ rounds }) => Math.max(5, rounds)

/**
 * @param {LoadOptions} options
 * @returns {Promise<number | null>} milliseconds, or null where this build or so many threads cannot be had
 */
export async function timeLoad(options) {
  const start = performance.now()
  const gpt = await load(options).catch((error) => {
    if (error.code !== 'UNSUPPORTED') throw error
  })
  const time = performance.now() - start
  const given = gpt?.threads
  gpt?.dispose?.()
  return given === options.threads ? time : null
}

/**
 * The first load in a process or page: its chunk is imported and compiled, as every user waits for once.
 *
 * @param {Settings} settings
 * @param {typeof timeLoad} timeInNewProcess the same, where it has never run
 * @returns {Promise<Row[]>}
 */
export async function firstLoads({ threads, effort, only }, timeInNewProcess) {
  if (!selects(only, { operation: LOAD_FIRST, threads })) return []
  /** @type {Row[]} */
  const rows = []
  for (const build of BUILDS) {
    const times = []
    do times.push(await timeInNewProcess({ build, threads }))
    while (times[0] !== null && times.length < loads(effort))
    if (times[0] === null) continue
    rows.push({ operation: LOAD_FIRST, build, threads, unit: 'ms', ours: median(times) })
  }
  return rows
}

/**
 * What one instance costs.
 *
 * @param {any} gpt
 * @param {Settings} settings
 * @returns {Promise<Row[]>}
 */
export async function costs(gpt, { threads, effort, only }) {
  const options = { build: gpt.build, threads }
  /** @type {Row[]} */
  const rows = []
  if (selects(only, { operation: LOAD_AGAIN, threads })) {
    const times = []
    for (let i = 0; i < loads(effort); i++) times.push(await timeLoad(options))
    rows.push({ operation: LOAD_AGAIN, ...options, unit: 'ms', ours: median(times) })
  }
  if (selects(only, { operation: CALL, threads })) {
    const seconds = await secondsAroundCall(gpt, effort)
    rows.push({ operation: CALL, ...options, unit: 'µs', ours: 1e6 * seconds })
  }
  return rows
}

/**
 * What a public call takes beyond the kernel's own on the same pointers.
 *
 * @param {any} gpt
 * @param {Effort} effort
 */
async function secondsAroundCall(gpt, effort) {
  const layer = new gpt.LayerNorm(4, { eps: EPS }).eval()
  const x = gpt.randn([1, 4])
  const y = gpt.zeros([1, 4])
  const [to, from, scale, shift] = [y, x, layer.scale, layer.shift].map(({ byteOffset }) => byteOffset)
  const kernel = gpt.exports.gpt_layernorm_forward
  const whole = () => {
    gpt.scope(() => {
      layer.forward(x)
    })
  }
  const raw = () => void kernel(to, 0, 0, from, scale, shift, 1, 4, EPS, 0, 1)
  const entries = Object.entries({ whole, raw }).map(([name, call]) => ({ name, call }))
  const seconds = await race(entries, effort)
  for (const owned of [layer, x, y]) owned.dispose()
  return seconds.whole - seconds.raw
}
