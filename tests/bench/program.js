// The command line of both benches: options, the table, and a file of the figures.

/** @import { Row, Settings } from './contest.js' */
/** @import { Column } from './table.js' */

import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { TOLERANCE } from './agreement.js'
import { QUICK, THOROUGH } from './measure.js'
import { digits, table } from './table.js'

export const THREADS = [1, 2]

const usage = (/** @type {string} */ command) => `usage: ./build.sh ${command} [generate] [option ...]

  generate         beside engines that write text, on GPT-2 124M's shape; its own options: generate --help

  --json FILE      also write the figures to FILE
  --quick          fewer repetitions, for a first look
  --only PATTERN   only the rows that match this regular expression, case ignored: 'feedforward T=128 ',
                   'gelu.*threads=1', 'load', 'around a call'
  -h, --help       this text`

const LEGEND = `
T: tokens. Widths are GPT-2 124M's, 768 and 3072. Times are medians.

| column | meaning |
| --- | --- |
| build | our build, and the number of threads of all contestants |
| ratio | the peer's time divided by ours |
| rate | work per second; FeedForward and Attention: flops (T = 1: bytes of the weights), others: bytes read and written |
| of the limit | rate divided by the machine's limit: a loop that only multiplies and adds, or only reads memory |
| x fwd | time of forward and backward divided by the time of forward in noGrad |

training step: forward, cross entropy, backward and Adam of a GPT with 2 layers, embDim 64 and 4 heads, on 8 sequences of
64 tokens. Its flops count as three forward passes. prompt: GPT-2 124M with random weights, the head on every token.
With two threads, each sample follows 20 ms of untimed calls.`

/** @param {string} usage @param {string[]} [args] */
export function readOptions(usage, args = process.argv.slice(2)) {
  const text = /** @type {const} */ ({ type: 'string', default: '' })
  const flag = /** @type {const} */ ({ type: 'boolean', default: false })
  const options = { json: text, quick: flag, only: text, help: { ...flag, short: 'h' } }
  try {
    const { values } = parseArgs({ args, options })
    new RegExp(values.only) // A bad pattern throws here.
    if (!values.help) return values
    console.log(usage)
    process.exit(0)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${usage}`)
    process.exit(2)
  }
}

/** @param {Row} row @param {string} peer */
function ratio({ ours, peers }, peer) {
  const theirs = peers?.[peer]
  return ours !== null && theirs !== undefined ? `${digits(theirs / ours)}x` : ''
}

/** @param {Row} row */
function ours({ ours, unit }) {
  if (ours === null) return 'not available'
  return unit === 'ms' ? digits(ours) : `${digits(ours)} ${unit}`
}

/** @param {string[]} peers @returns {Column<Row>[]} */
const columns = (peers) => [
  { title: 'operation', width: 21, left: true, cell: ({ operation }) => operation },
  { title: 'T', width: 4, cell: ({ tokens }) => (tokens === undefined ? '' : String(tokens)) },
  { title: 'build', width: 11, left: true, cell: ({ build, threads }) => `${build} / ${threads}` },
  { title: 'ours, ms', width: 13, cell: ours },
  ...peers.flatMap((peer) => [
    {
      title: `${peer}, ms`,
      width: peer.length + 4,
      cell: (/** @type {Row} */ { peers }) => (peers?.[peer] === undefined ? '' : digits(peers[peer])),
    },
    { title: 'ratio', width: 6, cell: (/** @type {Row} */ row) => ratio(row, peer) },
  ]),
  { title: 'rate', width: 12, cell: ({ rate }) => (rate ? `${digits(rate.value)} ${rate.unit}` : '') },
  {
    title: 'of the limit',
    width: 12,
    cell: ({ rate, limit }) =>
      rate && limit ? `${((100 * rate.value) / limit.value).toFixed(0)} % of ${digits(limit.value)}` : '',
  },
]

/** @param {string} name the name of a package that is installed here @returns {string} its version */
export const version = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), 'utf8')).version

/**
 * @param {string} command
 * @param {Record<string, string>} peers the package of each, by name
 * @param {(settings: Omit<Settings, 'threads'>,
 *   report: (message: { runtime?: string, row?: Row, note?: string }) => void) => Promise<void>} run
 *   reports the runtime before the first row
 */
export async function program(command, peers, run) {
  const { json, quick, only } = readOptions(usage(command))
  const versions = Object.fromEntries(Object.entries(peers).map(([name, from]) => [name, version(from)]))
  const cpu = `${cpus().length} x ${cpus()[0]?.model}`
  const { head, line } = table(columns(Object.keys(peers)))
  /** @type {{ rows: Row[], notes: string[] } & Record<string, unknown>} */
  const figures = { runtime: '', cpu, versions, quick, tolerance: TOLERANCE, rows: [], notes: [] }

  await run({ effort: quick ? QUICK : THOROUGH, only }, ({ runtime, row, note }) => {
    if (runtime) {
      figures.runtime = runtime
      const sides = Object.entries(versions).map((entry) => entry.join(' '))
      console.log([runtime, cpu, ...sides].join(', '))
      console.log(`Results agree within ${TOLERANCE}, absolute below 1 and relative above, or this fails.`)
      console.log(`\n${head}`)
    }
    if (row) console.log(line(row))
    if (row) figures.rows.push(row)
    if (note) figures.notes.push(note)
  })
  console.log([LEGEND, ...figures.notes].join('\n'))
  if (json) writeFileSync(json, `${JSON.stringify(figures, null, 2)}\n`)
}
