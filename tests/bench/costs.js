// Costs besides the arithmetic: loading the package, and JavaScript's share of a call.

/** @import { Gpt } from '../lib/support.js' */
/** @import { Row, Settings } from './contest.js' */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { median, race } from './measure.js'
import { EPS } from './operations.js'
import { BUILDS } from './ours.js'
import { selects } from './select.js'

const LOAD = 'load(), first'
const CALL = 'JS around a call'

/**
 * The first load() in a process, which imports and compiles the WebAssembly. Every user waits for it once.
 *
 * @param {Settings} settings
 * @returns {Promise<Row[]>}
 */
export async function firstLoads({ threads, effort, only }) {
  if (!selects(only, { operation: LOAD, threads })) return []
  /** @type {Row[]} */
  const rows = []
  for (const build of BUILDS) {
    /** @type {number[]} */
    const times = []
    while (times.length < Math.max(5, effort.rounds)) {
      const time = await timeLoad({ build, threads })
      if (time === null) break
      times.push(time)
    }
    if (times.length > 0) rows.push({ operation: LOAD, build, threads, ours: median(times) })
  }
  return rows
}

/**
 * @param {{ build: string, threads: number }} options
 * @param {string[]} [url] the module of another package
 * @param {string} [node] the Node that runs it
 * @returns {Promise<number | null>} milliseconds of load() in a new process; null where this build or this
 *   many threads are not available
 */
export async function timeLoad(options, url = [], node = process.execPath) {
  const file = fileURLToPath(new URL('load-once.js', import.meta.url))
  const { stdout } = await promisify(execFile)(node, [file, JSON.stringify(options), ...url])
  return JSON.parse(stdout)
}

/**
 * JavaScript's share of a call: the time of layer.forward(x) in noGrad minus the time of its kernel with the
 * same pointers.
 *
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @returns {Promise<Row[]>}
 */
export async function callCost(gpt, { threads, effort, only }) {
  if (!selects(only, { operation: CALL, threads })) return []
  const layer = new gpt.LayerNorm(4, { eps: EPS })
  const x = gpt.randn([1, 4])
  const y = gpt.zeros([1, 4])
  const [to, from, scale, shift] = [y, x, layer.scale, layer.shift].map((tensor) => tensor?.byteOffset ?? 0)
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
  const row = { operation: CALL, build: gpt.build, threads, ours: 1000 * (seconds.whole - seconds.raw) }
  return [row]
}
