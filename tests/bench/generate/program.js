// The command line of `bench generate` and of its twin in the browser: options, tables, a file of figures.

/** @import { Effort } from '../measure.js' */
/** @import { Config } from './model.js' */
/** @import { Column } from '../table.js' */
/** @import { Figures, Goal, RunRow } from './goals.js' */

import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { readOptions, version } from '../program.js'
import { BUILDS } from '../ours.js'
import { digits, table } from '../table.js'
import { goals, isMet } from './goals.js'
import { GPT2, TINY } from './model.js'

const TINY_OPTION = '--tiny'

const usage = (/** @type {string} */ command) => `usage: ./build.sh ${command} generate [option ...]

GPT-2 124M's shape with random weights, beside other engines: a prompt, and writing token by token.

  --json FILE      also write the figures to FILE
  --quick          fewer repetitions, for a first look
  ${TINY_OPTION}           a tiny model: shows in seconds whether the bench works, not how fast anybody is
  --only PATTERN   only the contestants that match this regular expression, case ignored: 'gpt-layers int8',
                   'threads=1', 'onnxruntime', 'layers'. gpt-layers float32 simd always takes part: the others must
                   agree with it
  -h, --help       this text`

const LEGEND = `
Tokens per second, medians. All contestants run in turns. at 32, at 512: 24 tokens written around this length of the
text, always the most probable token. prompt of 128: the head on the last token. memory: in MB.
"cache too": keys and values in int8. Otherwise they are in float32; llama.cpp's are in float16.`

/** @type {Effort} */
const THOROUGH = { seconds: 0, rounds: 5, sample: 0, patience: Infinity }
/** @type {Effort} */
const QUICK = { ...THOROUGH, rounds: 2 }

/** @param {number | undefined} seconds */
const rate = (seconds) => (seconds === undefined ? '' : digits(1 / seconds))

/** @type {Column<RunRow>[]} */
const COLUMNS = [
  { title: 'engine', width: 17, left: true, cell: ({ engine }) => engine },
  { title: 'weights', width: 15, left: true, cell: ({ weights }) => weights },
  { title: 'build', width: 7, left: true, cell: ({ build }) => build },
  { title: 'threads', width: 7, cell: ({ threads }) => String(threads) },
  { title: 'prompt of 128', width: 13, cell: ({ seconds }) => rate(seconds.prompt) },
  { title: 'at 32', width: 5, cell: ({ seconds }) => rate(seconds.at32) },
  { title: 'at 512', width: 6, cell: ({ seconds }) => rate(seconds.at512) },
  {
    title: 'memory',
    width: 6,
    cell: ({ memory }) => (memory === undefined ? '' : (memory / 1e6).toFixed(0)),
  },
]

/** @param {number | undefined} value @param {Goal} goal */
function show(value, { percent }) {
  if (value === undefined) return ''
  return percent ? `${(100 * value).toFixed(0)} %` : `${value.toFixed(2)}x`
}

/** @type {Column<Goal>[]} */
const GOALS = [
  { title: 'goal', width: 48, left: true, cell: ({ goal }) => goal },
  { title: 'against', width: 45, left: true, cell: ({ against }) => against },
  {
    title: 'bound',
    width: 14,
    left: true,
    cell: (goal) =>
      `${goal.atMost ? 'at most' : 'at least'} ${goal.percent ? show(goal.bound, goal) : `${goal.bound}x`}`,
  },
  ...BUILDS.map((build) => ({
    title: build,
    width: 7,
    cell: (/** @type {Goal} */ goal) => show(goal.measured[build], goal),
  })),
  { title: 'met', width: 3, left: true, cell: (goal) => (isMet(goal) ? 'yes' : 'no') },
]

/**
 * @typedef {{ effort: Effort, only: string, config: Config }} Settings
 * @typedef {{ runtime?: string, row?: RunRow, layer?: Figures['layers'][number],
 *   share?: Figures['shares'][number], memory?: number, note?: string }} Message
 */

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string[]} peers the packages of which the versions are told
 * @param {(settings: Settings, report: (message: Message) => void) =>
 *   Promise<void>} run reports the runtime before the first row
 */
export async function program(command, args, peers, run) {
  const tiny = args.includes(TINY_OPTION)
  const options = args.filter((arg) => arg !== TINY_OPTION)
  const { json, quick, only } = readOptions(usage(command), options)
  const versions = Object.fromEntries(peers.map((name) => [name, version(name)]))
  const cpu = `${cpus().length} x ${cpus()[0]?.model}`
  const { head, line } = table(COLUMNS)
  /** @type {Figures & Record<string, unknown> & { notes: string[] }} */
  const figures = { runtime: '', cpu, versions, quick, tiny, rows: [], shares: [], layers: [], notes: [] }

  const settings = { effort: quick ? QUICK : THOROUGH, only, config: tiny ? TINY : GPT2 }
  await run(settings, ({ runtime, row, layer, share, note }) => {
    if (runtime) {
      figures.runtime = runtime
      const sides = Object.entries(versions).map((entry) => entry.join(' '))
      console.log(`${[runtime, cpu, ...sides].join(', ')}\n\n${head}`)
    }
    if (row) figures.rows.push(row)
    if (row && row.threads === row.run) console.log(line(row))
    if (layer) figures.layers.push(layer)
    if (share) figures.shares.push(share)
    if (note) figures.notes.push(note)
  })
  console.log([LEGEND, ...figures.notes].join('\n'))
  for (const { build, products, read, rest32, rest512 } of figures.shares) {
    const [fast, bare] = [products, read].map((rate) => digits(rate / 1e9))
    const [at32, at512] = [rest32, rest512].map((part) => `${(100 * part).toFixed(0)} %`)
    console.log(`${build}, int8: the matrix products read ${fast} GB/s, a bare read ${bare}.`)
    console.log(`  All but the products takes ${at32} of a token at 32, ${at512} at 512.`)
  }
  const reached = goals(figures)
  const goalTable = table(GOALS)
  console.log(['', goalTable.head, ...reached.map(goalTable.line)].join('\n'))
  if (json) writeFileSync(json, `${JSON.stringify({ ...figures, goals: reached }, null, 2)}\n`)
}
