// All rows of one number of threads. bench.js runs this file in a process of its own.

/** @import { Gpt } from '../lib/support.js' */
/** @import { Effort } from './measure.js' */
/** @import { Task } from './operations.js' */

import { callCost } from './costs.js'
import { jaxjs } from './jaxjs.js'
import { race } from './measure.js'
import { onnxruntime } from './onnxruntime.js'
import { OPERATIONS, task, TOKENS, TOLERANCE } from './operations.js'
import { BUILDS, leadBefore, open, ours } from './ours.js'
import { asProcess } from './program.js'
import { selects } from './select.js'

/**
 * @typedef {{ threads: number, effort: Effort, only: string }} Settings
 * @typedef {{ call: () => unknown, result: () => Float32Array | Promise<Float32Array>,
 *   dispose: () => unknown }} Prepared an operation at one size; result is called once, before the first call
 * @typedef {{ name: string, rest: number, prepare: (task: Task) => Prepared | Promise<Prepared> }} Contestant
 *   rest: see Entry
 * @typedef {{ operation: string, tokens?: number, threads: number, build: string, ours: number,
 *   peer?: string, theirs?: number }} Row ours, theirs: medians in milliseconds
 */

/**
 * Every contestant must compute the same result before it is measured.
 *
 * @param {Task} task
 * @param {Float32Array} expected our own result on one thread
 * @param {(Prepared & { name: string })[]} entries
 * @throws {Error} naming the first element that differs
 */
async function checkAgreement({ name: operation, tokens }, expected, entries) {
  for (const { name, result } of entries) {
    const found = await result()
    const at = `${operation}, T=${tokens}: ${name} should agree with ours within ${TOLERANCE}`
    const count = expected.length
    if (found.length !== count) throw new Error(`${at}, got ${found.length} numbers for ${count}`)
    const i = expected.findIndex((value, i) => {
      const difference = Math.abs(found[i] - value) / Math.max(1, Math.abs(value))
      return !(difference <= TOLERANCE) // !(a <= b) instead of a > b, so that a NaN differs
    })
    if (i >= 0) throw new Error(`${at}, got ${found[i]} for ${expected[i]} at element ${i}`)
  }
}

/**
 * @param {Task} job
 * @param {Contestant} reference
 * @param {Contestant[]} contestants
 * @param {Effort} effort
 * @returns {Promise<Record<string, number>>} the median milliseconds of a call, by the name of the contestant
 */
async function measure(job, reference, contestants, effort) {
  const expected = await reference.prepare(job)
  const entries = []
  for (const { name, rest, prepare } of contestants) entries.push({ name, rest, ...(await prepare(job)) })
  await checkAgreement(job, await expected.result(), entries)
  await expected.dispose()
  const seconds = await race(entries, effort)
  for (const { dispose } of entries) await dispose()
  return Object.fromEntries(Object.entries(seconds).map(([name, time]) => [name, 1000 * time]))
}

/**
 * @param {Settings} settings
 * @param {(message: { row?: Row, note?: string }) => void} report
 */
async function contest({ threads, only, ...settings }, report) {
  const effort = { ...settings.effort, lead: leadBefore(threads) }
  const opened = await open({ build: 'simd', threads: 1 })
  if ('note' in opened) throw new Error(opened.note)
  const { gpt } = opened
  const reference = ours(gpt)
  /** @type {Gpt[]} */
  const builds = []
  for (const build of BUILDS) {
    const opened = await open({ build, threads })
    if ('note' in opened) report({ note: `Not run with threads=${threads}: ${opened.note}` })
    else builds.push(opened.gpt)
  }
  const peers = [onnxruntime(threads)]
  if (threads === 1) {
    const trains = await jaxjs(gpt)
    if ('note' in trains) report(trains)
    else peers.push(trains)
  }
  const draw = (/** @type {number} */ size) => gpt.scope(() => gpt.randn([size]).data.slice())

  for (const operation of OPERATIONS) {
    for (const tokens of operation.sizes ?? TOKENS) {
      if (!selects(only, { operation: operation.name, tokens, threads })) continue
      const job = task(operation, tokens, draw)
      const peer = peers.find(({ can }) => can(job.kind))
      const times = await measure(job, reference, [...builds.map(ours), ...(peer ? [peer] : [])], effort)
      for (const { build } of builds) {
        const row = {
          operation: job.name,
          tokens,
          threads,
          build,
          ours: times[build],
          peer: peer?.name,
          theirs: peer && times[peer.name],
        }
        report({ row })
      }
    }
  }
  for (const build of builds) {
    for (const row of await callCost(build, { threads, only, effort })) report({ row })
  }
}

await asProcess(contest)
