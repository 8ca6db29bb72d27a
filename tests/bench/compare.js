// `./build.sh compare DIR`: this package beside another build of it, usually an older version, and beside one
// commit that stays the same, the baseline, through the public API that all have. Each change may be 3 % slower
// by chance: beside the baseline such steps add up and are seen.
//
// All run in one process and in turns: A B C, C B A, A B C, ... A row's ratio is the median of the ratios of the
// turns, so a disturbance that lasts longer than one turn slows all. Each combination of build and threads runs in
// several new processes, half of which load the packages in the other order: where memory and machine code happen
// to lie differs by process.

/** @import { Gpt } from '../lib/support.js' */
/** @import { Effort } from './measure.js' */
/** @import { Operation, Task } from './operations.js' */
/** @import { LoadOptions, PreparedOurs } from './ours.js' */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { timeLoad } from './costs.js'
import { median, quantile, takeTurns } from './measure.js'
import { OPERATIONS, task, TOKENS } from './operations.js'
import { nodeFor } from './node.js'
import { BUILDS, leadBefore, open, OWN, prepareForward, prepareGradients, restAfter } from './ours.js'
import { asProcess, inProcess } from './program.js'
import { selects } from './select.js'
import { digits, table } from './table.js'

// 2026-11-24, from a clone with its history. A newer one takes its place only when each row is at least as fast.
const BASELINE = 'cbc2fa8683'

const USAGE = `usage: ./build.sh compare [DIR] [option ...]

  DIR              a clone that was built, an installed package, or its dist folder; without it, the baseline alone
  --build NAME     simd or relaxed; both by default
  --threads N      1 or 2; both by default
  --only PATTERN   only the rows that match this regular expression, case ignored: 'gelu', 'attention.*backward',
                   'T=128 ', 'load'
  --processes N    how many processes measure each row; 2 by default
  --quick          fewer repetitions
  --json FILE      write the rows to FILE, too
  -h, --help       this text

inference: forward in noGrad; forward: of training.
ratio: old time / new time, so above 1 the new package is faster. It is the median of the turns' ratios; half of
the turns lie in the range after it. same: whether old and new give the same bits. With DIR = . both packages are
the same, so the table shows the noise.
base: time of the baseline, commit ${BASELINE}, / new time. It is built once, in build/baseline.
Where this Node has no relaxed SIMD, the relaxed build runs in the newer Node of tests/nodes.`

/** @type {Effort} */
const THOROUGH = { seconds: 0.2, rounds: 30, sample: 0.004, patience: 4, warm: 0.15 }
/** @type {Effort} */
const QUICK = { seconds: 0.03, rounds: 7, sample: 0.002, patience: 1, warm: 0.03 }
const LOADS = { thorough: 15, quick: 5 } // processes of each package
const SLOWER = 0.97 // rows below are shown again at the end

/**
 * @typedef {{ packages: Record<string, string>, build: LoadOptions['build'], threads: number, reverse: boolean,
 *   only: string, quick: boolean }} Settings packages: the URLs of the modules 'old', 'baseline' and 'new', of
 *   which one of the first two may be missing
 * @typedef {{ operation: string, tokens?: number, same?: boolean, times: Record<string, number[]> }} Measured
 *   times: seconds of a call, by package, of each turn
 * @typedef {{ row?: Measured, note?: string }} Message
 * @typedef {Measured & LoadOptions} Row
 * @typedef {{ name: string, tokens: number, prepare: (gpt: Gpt) => PreparedOurs }} Job
 */

/** @param {string} folder @returns {string} the URL of the module that exports load() */
function moduleIn(folder) {
  const file = ['dist/index.js', 'index.js'].map((name) => resolve(folder, name)).find(existsSync)
  if (!file) throw new Error(`${folder} should hold dist/index.js or index.js; was it built?`)
  return pathToFileURL(file).href
}

/** @returns {string | null} the folder of the baseline, built; null where there is no history to take it from */
function baseline() {
  const folder = fileURLToPath(new URL(`../../build/baseline/${BASELINE}`, import.meta.url))
  if (existsSync(folder)) return folder
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const unfinished = `${folder}.new`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  try {
    const files = execFileSync('git', ['archive', BASELINE], { cwd: root, maxBuffer: 2 ** 30 })
    execFileSync('tar', ['-x'], { cwd: unfinished, input: files })
  } catch {
    console.log(`Left out: the baseline. This folder has no commit ${BASELINE} in its history.`)
    return null
  }
  console.log(`Building the baseline, once: commit ${BASELINE}`)
  execFileSync('./build.sh', ['build'], { cwd: unfinished, stdio: ['ignore', 'ignore', 'inherit'] })
  renameSync(unfinished, folder)
  return folder
}

/** All rows that run in one process. @param {(size: number) => Float32Array} draw @returns {Job[]} */
function jobs(draw) {
  return OPERATIONS.flatMap((operation) =>
    (operation.sizes ?? TOKENS).flatMap((tokens) => jobsOf(operation, tokens, draw)),
  )
}

/**
 * @param {Operation} operation
 * @param {number} tokens
 * @param {(size: number) => Float32Array} draw
 * @returns {Job[]}
 */
function jobsOf(operation, tokens, draw) {
  const { name, kind, columns } = operation
  /** @type {Task | undefined} */
  let drawn
  const once = () => (drawn ??= task(operation, tokens, draw)) // Only for rows that --only selects.
  if (kind === 'Training') return [{ name, tokens, prepare: (gpt) => prepareForward(gpt, once()) }]
  let dy
  const gradient = () => (dy ??= draw(tokens * columns))
  /** @type {(withBackward: boolean) => Job['prepare']} */
  const withGradients = (withBackward) => (gpt) =>
    prepareGradients(gpt, { ...once(), dy: gradient() }, { withBackward })
  return [
    { name: `${name}, inference`, tokens, prepare: (gpt) => prepareForward(gpt, once()) },
    { name: `${name}, forward`, tokens, prepare: withGradients(false) },
    { name: `${name}, forward+backward`, tokens, prepare: withGradients(true) },
  ]
}

/**
 * In a process of its own: measures all rows but the first load.
 *
 * @param {Settings} settings
 * @param {(message: Message) => void} report
 */
async function measure({ packages, build, threads, reverse, only, quick }, report) {
  const sides = Object.keys(packages)
  if (reverse) sides.reverse()
  const copies = []
  for (const side of sides) {
    const opened = await open({ build, threads }, packages[side])
    if ('note' in opened) return report({ note: `${side}: ${opened.note}` })
    copies.push({ side, gpt: opened.gpt })
  }
  const [{ gpt }] = copies
  const draw = (/** @type {number} */ size) => gpt.scope(() => gpt.randn([size]).data.slice())
  const effort = { ...(quick ? QUICK : THOROUGH), lead: leadBefore(threads) }
  for (const { name, tokens, prepare } of jobs(draw)) {
    if (!selects(only, { operation: name, tokens, threads })) continue
    const prepared = copies.map(({ side, gpt }) => ({ name: side, ...prepare(gpt) }))
    const bits = Object.fromEntries(prepared.map(({ name, result }) => [name, Buffer.from(result().buffer)]))
    const entries = prepared.map((entry) => ({ ...entry, rest: restAfter(threads) }))
    const times = await takeTurns(entries, effort)
    for (const { dispose } of prepared) await dispose()
    /** @type {Measured} */
    const row = {
      operation: name,
      tokens,
      same: bits.old?.equals(bits.new),
      times: Object.fromEntries(sides.map((side, i) => [side, times[i]])),
    }
    report({ row })
  }
  for (const { gpt } of copies) gpt.dispose()
}

/**
 * The first load() of a process: import, compile, instantiate, start threads.
 *
 * @param {Settings} settings
 * @returns {Promise<Measured | null>} null where this build or so many threads cannot be had
 */
async function firstLoad({ packages, build, threads, quick }) {
  const sides = Object.keys(packages)
  /** @type {Record<string, number[]>} */
  const times = Object.fromEntries(sides.map((side) => [side, []]))
  for (let i = 0; i < (quick ? LOADS.quick : LOADS.thorough); i++) {
    for (const side of i % 2 ? sides : sides.toReversed()) {
      const time = await timeLoad({ build, threads }, [packages[side]], nodeFor(build))
      if (time === null) return null
      times[side].push(time / 1000)
    }
  }
  return { operation: 'load(), first', times }
}

/** @param {Row} row */
function summarize({ times, ...row }) {
  const [old, base, now] = ['old', 'baseline', 'new'].map((side) => times[side] ?? [])
  const [low, ratio, high] = [0.25, 0.5, 0.75].map((q) => quantile(ratios(old, now), q))
  const [oldTime, newTime] = [old, now].map((seconds) => 1000 * median(seconds))
  const ofBaseline = median(ratios(base, now))
  return { ...row, old: oldTime, new: newTime, ratio, low, high, ofBaseline, turns: now.length }
}

/** @param {number[]} before @param {number[]} now */
const ratios = (before, now) => before.map((time, i) => time / now[i])

/** @typedef {ReturnType<typeof summarize>} Summary */

const ofThree = (/** @type {number} */ ratio) => ratio.toFixed(3)
/** A figure's text; nothing for a package that is not compared. @param {number} value @param {(value: number) => string} text */
const known = (value, text) => (Number.isNaN(value) ? '' : text(value))

const { head, line } = table(
  /** @type {import('./table.js').Column<Summary>[]} */ ([
    { title: 'operation', width: 29, left: true, cell: ({ operation }) => operation },
    { title: 'T', width: 4, cell: ({ tokens }) => (tokens === undefined ? '' : String(tokens)) },
    { title: 'build', width: 11, left: true, cell: ({ build, threads }) => `${build} / ${threads}` },
    { title: 'old, ms', width: 8, cell: ({ old }) => known(old, digits) },
    { title: 'new, ms', width: 8, cell: (row) => digits(row.new) },
    { title: 'ratio', width: 5, cell: ({ ratio }) => known(ratio, ofThree) },
    {
      title: 'half of them',
      width: 13,
      cell: ({ low, high }) => known(low, () => `${ofThree(low)}-${ofThree(high)}`),
    },
    { title: 'base', width: 5, cell: ({ ofBaseline }) => known(ofBaseline, ofThree) },
    { title: 'turns', width: 5, cell: ({ turns }) => String(turns) },
    { title: 'same', width: 4, cell: ({ same }) => (same === undefined ? '' : same ? 'yes' : 'no') },
  ]),
)

/**
 * @param {Settings} settings
 * @param {number} processes
 * @param {(row: Measured) => void} report gets each row once, when its last process has measured it
 */
async function compare(settings, processes, report) {
  /** @type {Map<string, Measured>} */
  const found = new Map()
  for (let i = 0; i < processes; i++) {
    const task = { ...settings, reverse: i % 2 === 1 }
    const gather = (/** @type {Message} */ { row, note }) => {
      if (note) console.log(`Left out, ${settings.build} with threads=${settings.threads}. ${note}`)
      if (!row) return
      const key = `${row.operation} ${row.tokens}`
      const known = found.get(key)
      for (const [side, times] of Object.entries(known?.times ?? {})) times.push(...row.times[side])
      if (!known) found.set(key, row)
      if (i === processes - 1) report(known ?? row)
    }
    await inProcess(new URL(import.meta.url), task, gather, nodeFor(settings.build))
    if (found.size === 0) break
  }
  if (!selects(settings.only, { operation: 'load(), first', threads: settings.threads })) return
  const row = await firstLoad(settings)
  if (row) report(row)
}

/** @param {string[]} args */
async function main(args) {
  const text = /** @type {const} */ ({ type: 'string', default: '' })
  const flag = /** @type {const} */ ({ type: 'boolean', default: false })
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      build: text,
      threads: text,
      only: text,
      processes: { ...text, default: '2' },
      quick: flag,
      json: text,
      help: { ...flag, short: 'h' },
    },
  })
  if (values.help || positionals.length > 1) {
    console.log(USAGE)
    process.exit(values.help ? 0 : 2)
  }
  const { only, quick } = values
  const fixed = baseline()
  const packages = {
    ...(positionals.length > 0 && { old: moduleIn(positionals[0]) }),
    ...(fixed && { baseline: moduleIn(fixed) }),
    new: OWN,
  }
  const builds = BUILDS.filter((build) => !values.build || build === values.build)
  const threads = [1, 2].filter((n) => !values.threads || n === Number(values.threads))
  /** @type {Summary[]} */
  const rows = []
  for (const [side, url] of Object.entries(packages)) console.log(`${side}: ${fileURLToPath(url)}`)
  console.log(`Node ${process.versions.node}\n\n${head}`)
  for (const threadCount of threads) {
    for (const build of builds) {
      const settings = { packages, build, threads: threadCount, reverse: false, only, quick }
      await compare(settings, Number(values.processes), (measured) => {
        const row = summarize({ ...measured, build, threads: threadCount })
        console.log(line(row))
        rows.push(row)
      })
    }
  }
  for (const [name, of] of /** @type {const} */ ([
    ['old', 'ratio'],
    ['the baseline', 'ofBaseline'],
  ])) {
    const compared = rows.filter((row) => !Number.isNaN(row[of]))
    if (compared.length === 0) continue
    const mean = Math.exp(compared.reduce((sum, row) => sum + Math.log(row[of]), 0) / compared.length)
    const slower = compared.filter((row) => row[of] < SLOWER)
    console.log(
      `\nBeside ${name}: ${compared.length} rows, geometric mean of the ratios ${ofThree(mean)}, ` +
        `${slower.length} below ${SLOWER}`,
    )
    if (slower.length > 0) console.log([head, ...slower.map(line)].join('\n'))
  }
  if (values.json) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`)
}

if (process.send) await asProcess(measure)
else await main(process.argv.slice(2))
