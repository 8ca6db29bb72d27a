// `./build.sh compare DIR`: this package beside another build of it, usually an older version, through the
// public API that both have.
//
// Old and new run in one process and in turns: A B, B A, A B, ... A row's ratio is the median of the ratios
// of the pairs, so a disturbance that lasts longer than one pair slows both sides of it. Each combination of
// build and threads runs in several new processes, half of which load the old package first: where memory and
// machine code happen to lie differs by process.

/** @import { Gpt } from '../lib/support.js' */
/** @import { Effort } from './measure.js' */
/** @import { Operation, Task } from './operations.js' */
/** @import { LoadOptions, PreparedOurs } from './ours.js' */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { timeLoad } from './costs.js'
import { median, quantile, takeTurns } from './measure.js'
import { OPERATIONS, task, TOKENS } from './operations.js'
import { nodeFor } from './node.js'
import { BUILDS, leadBefore, open, OWN, prepareForward, prepareGradients, restAfter } from './ours.js'
import { selects } from './select.js'
import { digits, table } from './table.js'

const USAGE = `usage: ./build.sh compare DIR [option ...]

  DIR              a clone that was built, an installed package, or its dist folder
  --build NAME     simd or relaxed; both by default
  --threads N      1 or 2; both by default
  --only PATTERN   only the rows that match this regular expression, case ignored: 'gelu', 'attention.*backward',
                   'T=128 ', 'load'
  --processes N    how many processes measure each row; 2 by default
  --quick          fewer repetitions
  --json FILE      write the rows to FILE, too
  -h, --help       this text

inference: forward in noGrad; forward: of training.
ratio: old time / new time, so above 1 the new package is faster. It is the median of the pairs' ratios; half of
the pairs lie in the range after it. same: whether both give the same bits. With DIR = . both packages are the
same, so the table shows the noise.
Where this Node has no relaxed SIMD, the relaxed build runs in the newer Node of tests/nodes.`

/** @type {Effort} */
const THOROUGH = { seconds: 0.2, rounds: 30, sample: 0.004, patience: 4, warm: 0.15 }
/** @type {Effort} */
const QUICK = { seconds: 0.03, rounds: 7, sample: 0.002, patience: 1, warm: 0.03 }
const LOADS = { thorough: 15, quick: 5 } // pairs of processes

/**
 * @typedef {{ old: string, build: LoadOptions['build'], threads: number, oldFirst: boolean, only: string,
 *   quick: boolean }} Settings old: the URL of the module
 * @typedef {{ operation: string, tokens?: number, same?: boolean, pairs: [number, number][] }} Measured
 *   pairs: seconds of a call, old and new
 * @typedef {Measured & LoadOptions} Row
 * @typedef {{ name: string, tokens: number, prepare: (gpt: Gpt) => PreparedOurs }} Job
 */

const script = fileURLToPath(import.meta.url)

/** @param {string} folder @returns {string} the URL of the module that exports load() */
function moduleIn(folder) {
  const file = ['dist/index.js', 'index.js'].map((name) => resolve(folder, name)).find(existsSync)
  if (!file) throw new Error(`${folder} should hold dist/index.js or index.js; was it built?`)
  return pathToFileURL(file).href
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

/** In a process of its own: measures all rows but the first load. @param {Settings} settings */
async function measure({ old, build, threads, oldFirst, only, quick }) {
  const urls = { old, new: OWN }
  /** @type {(keyof typeof urls)[]} */
  const sides = oldFirst ? ['old', 'new'] : ['new', 'old']
  const copies = []
  for (const side of sides) {
    const opened = await open({ build, threads }, urls[side])
    if ('note' in opened) return { note: `${side}: ${opened.note}` }
    copies.push({ side, gpt: opened.gpt })
  }
  const [{ gpt }] = copies
  const draw = (/** @type {number} */ size) => gpt.scope(() => gpt.randn([size]).data.slice())
  const effort = { ...(quick ? QUICK : THOROUGH), lead: leadBefore(threads) }
  for (const { name, tokens, prepare } of jobs(draw)) {
    if (!selects(only, { operation: name, tokens, threads })) continue
    const prepared = copies.map(({ side, gpt }) => ({ name: side, ...prepare(gpt) }))
    const [first, second] = prepared.map(({ result }) => Buffer.from(result().buffer))
    const entries = prepared.map((entry) => ({ ...entry, rest: restAfter(threads) }))
    const times = await takeTurns(entries, effort)
    for (const { dispose } of prepared) await dispose()
    const [olds, news] = oldFirst ? times : times.toReversed()
    /** @type {Measured} */
    const row = {
      operation: name,
      tokens,
      same: first.equals(second),
      pairs: olds.map((time, i) => [time, news[i]]),
    }
    process.send?.({ row })
  }
  for (const { gpt } of copies) gpt.dispose()
  return {}
}

/**
 * The first load() of a process: import, compile, instantiate, start threads.
 *
 * @param {Settings} settings
 * @returns {Promise<Measured | null>} null where this build or so many threads cannot be had
 */
async function firstLoad({ old, build, threads, quick }) {
  const time = (/** @type {string} */ url) => timeLoad({ build, threads }, [url], nodeFor(build))
  /** @type {[number, number][]} */
  const pairs = []
  for (let i = 0; i < (quick ? LOADS.quick : LOADS.thorough); i++) {
    const urls = i % 2 ? [OWN, old] : [old, OWN]
    const [first, second] = [await time(urls[0]), await time(urls[1])]
    if (first === null || second === null) return null
    pairs.push(i % 2 ? [second / 1000, first / 1000] : [first / 1000, second / 1000])
  }
  return { operation: 'load(), first', pairs }
}

/** @param {Row} row */
function summarize({ pairs, ...row }) {
  const ratios = pairs.map(([old, now]) => old / now)
  const [low, ratio, high] = [0.25, 0.5, 0.75].map((q) => quantile(ratios, q))
  const [old, now] = [0, 1].map((side) => 1000 * median(pairs.map((pair) => pair[side])))
  return { ...row, old, new: now, ratio, low, high, pairs: pairs.length }
}

/** @typedef {ReturnType<typeof summarize>} Summary */

const { head, line } = table(
  /** @type {import('./table.js').Column<Summary>[]} */ ([
    { title: 'operation', width: 29, left: true, cell: ({ operation }) => operation },
    { title: 'T', width: 4, cell: ({ tokens }) => (tokens === undefined ? '' : String(tokens)) },
    { title: 'build', width: 11, left: true, cell: ({ build, threads }) => `${build} / ${threads}` },
    { title: 'old, ms', width: 8, cell: ({ old }) => digits(old) },
    { title: 'new, ms', width: 8, cell: (row) => digits(row.new) },
    { title: 'ratio', width: 5, cell: ({ ratio }) => ratio.toFixed(3) },
    { title: 'half of them', width: 13, cell: ({ low, high }) => `${low.toFixed(3)}-${high.toFixed(3)}` },
    { title: 'pairs', width: 5, cell: ({ pairs }) => String(pairs) },
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
    const child = fork(script, [JSON.stringify({ ...settings, oldFirst: i % 2 === 0 })], {
      env: inChild,
      execPath: nodeFor(settings.build),
    })
    child.on('message', (/** @type {{ row?: Measured, note?: string }} */ { row, note }) => {
      if (note) console.log(`Left out, ${settings.build} with threads=${settings.threads}. ${note}`)
      if (!row) return
      const key = `${row.operation} ${row.tokens}`
      const known = found.get(key)
      known?.pairs.push(...row.pairs)
      if (!known) found.set(key, row)
      if (i === processes - 1) report(known ?? row)
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) process.exit(1) // The child has printed why.
    if (found.size === 0) break
  }
  if (!selects(settings.only, { operation: 'load(), first', threads: settings.threads })) return
  const row = await firstLoad(settings)
  if (row) report(row)
}

const CHILD = 'GPT_LAYERS_COMPARE'
const inChild = { ...process.env, [CHILD]: '1' }

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
  if (values.help || positionals.length !== 1) {
    console.log(USAGE)
    process.exit(values.help ? 0 : 2)
  }
  const { only, quick } = values
  const old = moduleIn(positionals[0])
  const builds = BUILDS.filter((build) => !values.build || build === values.build)
  const threads = [1, 2].filter((n) => !values.threads || n === Number(values.threads))
  /** @type {Summary[]} */
  const rows = []
  console.log(
    `old: ${fileURLToPath(old)}\nnew: ${fileURLToPath(OWN)}\nNode ${process.versions.node}\n\n${head}`,
  )
  for (const threadCount of threads) {
    for (const build of builds) {
      const settings = { old, build, threads: threadCount, oldFirst: true, only, quick }
      await compare(settings, Number(values.processes), (measured) => {
        const row = summarize({ ...measured, build, threads: threadCount })
        console.log(line(row))
        rows.push(row)
      })
    }
  }
  const mean = Math.exp(rows.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / rows.length)
  const slower = rows.filter(({ ratio }) => ratio < 0.97)
  console.log(
    `\n${rows.length} rows, geometric mean of the ratios ${mean.toFixed(3)}, ${slower.length} below 0.97`,
  )
  if (slower.length > 0) console.log([head, ...slower.map(line)].join('\n'))
  if (values.json) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`)
}

if (process.env[CHILD]) {
  const message = await measure(JSON.parse(process.argv[2]))
  await new Promise((resolve) => process.send?.(message, resolve)) // Afterwards all rows have been sent.
  process.exit()
} else {
  await main(process.argv.slice(2))
}
