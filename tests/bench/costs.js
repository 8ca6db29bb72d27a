// Costs besides the arithmetic: loading the package, and JavaScript's share of a call.

/** @import { Gpt } from '../lib/support.js' */
/** @import { Row, Settings } from './contest.js' */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { median, quantile, takeTurns } from './measure.js'
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
 * JavaScript's share of a small call: its time minus that of its kernel with the same pointers. "recorded": on the tape,
 * and freed without `backward`. The lower quartiles: a disturbance of the machine is longer than these calls.
 *
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @returns {Promise<Row[]>}
 */
export async function callCost(gpt, { threads, effort, only }) {
  if (!selects(only, { operation: CALL, threads })) return []
  const [norm, gelu] = [new gpt.LayerNorm(4, { eps: EPS }), new gpt.GELU()]
  const [x, other, y] = [gpt.parameter(gpt.randn([1, 4])), gpt.randn([1, 4]), gpt.zeros([1, 4])]
  const [from, second, to, scale, shift] = [x, other, y, norm.scale, norm.shift].map(
    (tensor) => tensor?.byteOffset ?? 0,
  )
  const { gpt_layernorm_forward, gpt_gelu_forward, gpt_add } = gpt.exports
  /** @type {Record<string, { call: () => unknown, kernel: () => unknown }>} */
  const calls = {
    LayerNorm: {
      call: () => norm.forward(x),
      kernel: () => gpt_layernorm_forward(to, 0, 0, from, scale, shift, 1, 4, EPS, 0, 1),
    },
    GELU: { call: () => gelu.forward(x), kernel: () => gpt_gelu_forward(to, from, 4, 0, 0, 1) },
    add: { call: () => x.add(other), kernel: () => gpt_add(to, from, second, 1, 4, 0, 1, 0, 1) },
  }
  /** @type {Row[]} */
  const rows = []
  for (const [name, { call, kernel }] of Object.entries(calls)) {
    const run = (/** @type {() => unknown} */ fn) => () => void gpt.scope(() => void fn())
    const ways = [() => void kernel(), run(() => gpt.noGrad(call)), run(call)]
    const times = await takeTurns(
      ways.map((way) => ({ name, call: way })),
      effort,
    )
    const [raw, plain, recorded] = times.map((one) => 1000 * quantile(one, 0.25))
    const costs = { [`${CALL}, ${name}`]: plain, [`${CALL}, ${name} recorded`]: recorded }
    for (const [operation, whole] of Object.entries(costs)) {
      rows.push({ operation, build: gpt.build, threads, ours: whole - raw })
    }
  }
  for (const owned of [norm, x, other, y]) owned.dispose()
  return rows
}
