// All rows of one number of threads, in Node or in a page.

/** @import { Gpt } from '../../dist/index.js' */
/** @import { Effort } from './measure.js' */
/** @import { Limit, Modules } from './limits.js' */
/** @import { Task } from './operations.js' */

import { checkAgreement } from './agreement.js'
import { costs } from './costs.js'
import { openLimits } from './limits.js'
import { race } from './measure.js'
import { OPERATIONS, task, TOKENS, work } from './operations.js'
import { BUILDS, leadBefore, ours } from './ours.js'
import { prompt } from './prompt.js'
import { selects } from './select.js'
import { training } from './training.js'

/**
 * @typedef {{ threads: number, effort: Effort, only: string }} Settings
 * @typedef {{ call: () => unknown, result: () => Float32Array | Promise<Float32Array>,
 *   dispose: () => unknown }} Prepared an operation at one size; result is called once, before the first call
 * @typedef {{ name: string, rest?: number, can?: (kind: Task['kind']) => boolean,
 *   prepare: (task: Task) => Prepared | Promise<Prepared>, close: () => void }} Contestant
 *   rest: see Entry; can: whether it has an operation, by default all
 * @typedef {{ contestant?: Contestant, gpt?: Gpt, note?: string }} Entrant a contestant, with gpt if it is
 *   one of ours; or a note that says why it does not take part
 * @typedef {{ operation: string, tokens?: number, threads: number, build: string, unit: 'ms' | 'µs',
 *   ours: number | null, peers?: Record<string, number>, rate?: { value: number, unit: string },
 *   limit?: { name: string, value: number } }} Row
 *   ours, peers: medians; limit: in the rate's unit, measured in the rounds of this row
 */

/**
 * @param {Settings} settings
 * @param {Entrant[]} peers
 * @param {Modules} modules
 * @param {(message: { row?: Row, note?: string }) => void} report
 */
export async function contest(settings, peers, modules, report) {
  const { threads, only } = settings
  const effort = { ...settings.effort, lead: leadBefore(threads) }
  const reference = await ours({ build: 'simd', threads: 1 })
  const builds = await Promise.all(BUILDS.map((build) => ours({ build, threads })))
  const { limits, close } = await openLimits(modules, threads)
  for (const { note } of [...builds, ...peers]) {
    if (note) report({ note: `Not run with threads=${threads}: ${note}` })
  }

  const { gpt, contestant: judge } = reference
  if (!gpt || !judge) throw new Error(reference.note)
  const draw = (/** @type {number} */ size) => gpt.scope(() => gpt.randn([size]).data.slice())
  for (const operation of OPERATIONS) {
    for (const tokens of operation.sizes ?? TOKENS) {
      if (!selects(only, { operation: operation.name, tokens, threads })) continue
      const job = task(operation, tokens, draw)
      const able = present(peers).filter(({ can }) => can?.(job.kind) ?? true)
      const seconds = await measure(job, judge, [...present(builds), ...able], limits, effort)
      for (const row of rows(job, threads, present(builds), able, limits, seconds)) report({ row })
    }
  }
  for (const { gpt } of builds) {
    if (!gpt) continue
    for (const row of await training(gpt, settings)) report({ row })
    for (const row of await prompt(gpt, { ...settings, effort }, limits)) report({ row })
    for (const row of await costs(gpt, settings)) report({ row })
  }
  for (const contestant of present([reference, ...builds, ...peers])) contestant.close()
  close()
}

/** @param {Entrant[]} entrants */
const present = (entrants) => entrants.flatMap(({ contestant }) => contestant ?? [])

/**
 * @param {Task} job
 * @param {Contestant} reference
 * @param {Contestant[]} contestants
 * @param {Map<string, Limit>} limits
 * @param {Effort} effort
 * @returns {Promise<Record<string, number>>} the median seconds of a call, by the name of the contestant or
 *   limit
 */
async function measure(job, reference, contestants, limits, effort) {
  const expected = await reference.prepare(job)
  const entries = []
  for (const { name, rest, prepare } of contestants) entries.push({ name, rest, ...(await prepare(job)) })
  await checkAgreement(job, await expected.result(), entries)
  await expected.dispose()
  const relevant = [...limits.values()].filter(({ name }) => name.startsWith(work(job).limit))
  const seconds = await race([...entries, ...relevant], effort)
  for (const { dispose } of entries) await dispose()
  return seconds
}

/**
 * One row per build of ours. Where no build runs on this many threads, one row for the peers.
 *
 * @param {Task} job
 * @param {number} threads
 * @param {Contestant[]} builds
 * @param {Contestant[]} peers
 * @param {Map<string, Limit>} limits
 * @param {Record<string, number>} seconds
 * @returns {Row[]}
 */
function rows(job, threads, builds, peers, limits, seconds) {
  const { amount, unit, limit: kind } = work(job)
  const names = builds.length > 0 ? builds.map(({ name }) => name) : ['none']
  return names.map((build) => {
    const limit = limits.get(kind === 'memory' ? kind : `${kind} ${build}`)
    return {
      operation: job.name,
      tokens: job.tokens,
      threads,
      build,
      unit: 'ms',
      ours: build in seconds ? 1000 * seconds[build] : null,
      peers: Object.fromEntries(peers.map(({ name }) => [name, 1000 * seconds[name]])),
      rate: build in seconds ? { value: amount / seconds[build] / 1e9, unit } : undefined,
      limit: limit && { name: limit.name, value: limit.amount / seconds[limit.name] / 1e9 },
    }
  })
}
