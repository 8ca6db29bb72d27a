// Costs besides the arithmetic: loading the package, and JavaScript's share of a call.

/** @import { Gpt } from '../../dist/index.js' */
/** @import { Row, Settings } from './contest.js' */
/** @import { Effort } from './measure.js' */
/** @import { LoadOptions } from './ours.js' */

import { load } from '../../dist/index.js'
import { median, race } from './measure.js'
import { EPS } from './operations.js'
import { BUILDS } from './ours.js'
import { selects } from './select.js'
import { timeLoad } from './time-load.js'

const LOAD_FIRST = 'load(), first'
const LOAD_AGAIN = 'load(), again'
const CALL = 'JS around a call'

/** @param {Effort} effort @returns {number} how many loads to time */
const loads = ({ rounds }) => Math.max(5, rounds)

/**
 * The first load() in a process or page, which imports and compiles the WebAssembly. Every user waits for it
 * once.
 *
 * @param {Settings} settings
 * @param {(options: LoadOptions) => Promise<number | null>} timeInNewProcess milliseconds of load() in a new
 *   process or page; null where this build or this many threads are not available
 * @returns {Promise<Row[]>}
 */
export async function firstLoads({ threads, effort, only }, timeInNewProcess) {
  if (!selects(only, { operation: LOAD_FIRST, threads })) return []
  /** @type {Row[]} */
  const rows = []
  for (const build of BUILDS) {
    /** @type {number[]} */
    const times = []
    while (times.length < loads(effort)) {
      const time = await timeInNewProcess({ build, threads })
      if (time === null) break
      times.push(time)
    }
    if (times.length > 0) {
      rows.push({ operation: LOAD_FIRST, build, threads, unit: 'ms', ours: median(times) })
    }
  }
  return rows
}

/**
 * The costs of one instance: another load() of a build that is compiled already, and JavaScript's share of a
 * call.
 *
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @returns {Promise<Row[]>}
 */
export async function costs(gpt, { threads, effort, only }) {
  const options = { build: gpt.build, threads }
  /** @type {Row[]} */
  const rows = []
  if (selects(only, { operation: LOAD_AGAIN, threads })) {
    /** @type {number[]} */
    const times = []
    for (let i = 0; i < loads(effort); i++) times.push((await timeLoad(load, options)) ?? NaN)
    rows.push({ operation: LOAD_AGAIN, ...options, unit: 'ms', ours: median(times) })
  }
  if (selects(only, { operation: CALL, threads })) {
    const seconds = await secondsAroundCall(gpt, effort)
    rows.push({ operation: CALL, ...options, unit: 'µs', ours: 1e6 * seconds })
  }
  return rows
}

/**
 * The time of layer.forward(x) in noGrad minus the time of its kernel with the same pointers.
 *
 * @param {Gpt} gpt
 * @param {Effort} effort
 */
async function secondsAroundCall(gpt, effort) {
  const layer = new gpt.LayerNorm(4, { eps: EPS })
  const x = gpt.randn([1, 4])
  const y = gpt.zeros([1, 4])
  const [to, from, scale, shift] = [y, x, layer.scale, layer.shift].map(({ byteOffset }) => byteOffset)
  const kernel = gpt.exports.gpt_layernorm_forward
  const forward = () => layer.forward(x)
  const whole = () => {
    gpt.scope(() => {
      gpt.noGrad(forward)
    })
  }
  const raw = () => void kernel(to, 0, 0, from, scale, shift, 1, 4, EPS, 0, 1)
  const entries = Object.entries({ whole, raw }).map(([name, call]) => ({ name, call }))
  const seconds = await race(entries, effort)
  for (const owned of [layer, x, y]) owned.dispose()
  return seconds.whole - seconds.raw
}
