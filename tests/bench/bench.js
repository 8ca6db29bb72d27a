// `./build.sh bench`: gpt-layers beside onnxruntime-web and jax-js. After a build, another Node can run this file directly.

/** @import { Row, Settings } from './contest.js' */
/** @import { Column } from './table.js' */

import { writeFileSync } from 'node:fs'
import { firstLoads } from './costs.js'
import { main as generate } from './generate/generate.js'
import { QUICK, THOROUGH } from './measure.js'
import { TOLERANCE } from './operations.js'
import { inProcess, readOptions, setting, THREADS } from './program.js'
import { digits, table } from './table.js'

const USAGE = `usage: ./build.sh bench [generate] [option ...]

  generate         beside engines that write text, on GPT-2 124M's shape; its own options: generate --help

  --json FILE      also write the figures to FILE
  --quick          fewer repetitions, for a first look
  --only PATTERN   only the rows that match this regular expression, case ignored: 'feedforward T=128 ',
                   'gelu.*threads=1', 'load', 'around a call'
  -h, --help       this text`

const LEGEND = `
T: tokens. Widths are GPT-2 124M's, 768 and 3072. Times are medians. build: ours, and the number of threads of both.
ratio: the peer's time divided by ours: onnxruntime-web's, and where something is trained jax-js's, which runs on one
thread, with its WebAssembly backend, jitted, and needs Node 22.
training, notebook, larger, page: forward, cross entropy, backward and AdamW of a GPT with tied weights: 2 layers 64
wide, 16 sequences of 32 tokens; 4 layers 128 wide, 8 of 64; 3 layers 48 wide, 16 of 11.
With two threads, each sample follows 20 ms of untimed calls.`

/** @type {Column<Row>[]} */
const COLUMNS = [
  { title: 'operation', width: 36, left: true, cell: ({ operation }) => operation },
  { title: 'T', width: 4, cell: ({ tokens }) => (tokens === undefined ? '' : String(tokens)) },
  { title: 'build', width: 11, left: true, cell: ({ build, threads }) => `${build} / ${threads}` },
  { title: 'ours, ms', width: 8, cell: ({ ours }) => digits(ours) },
  {
    title: 'peer, ms',
    width: 17,
    cell: ({ peer, theirs }) => (theirs === undefined ? '' : `${peer} ${digits(theirs)}`),
  },
  {
    title: 'ratio',
    width: 10,
    cell: ({ ours, theirs }) => (theirs === undefined ? '' : `${digits(theirs / ours)}x`),
  },
]

if (process.argv[2] === 'generate') {
  await generate(process.argv.slice(3))
  process.exit()
}
const { json, quick, only } = readOptions(USAGE, process.argv.slice(2))
const { head, line } = table(COLUMNS)
/** @type {Row[]} */
const rows = []
/** @type {string[]} */
const notes = []
const report = (/** @type {{ row?: Row, note?: string }} */ { row, note }) => {
  if (note) notes.push(note)
  if (!row) return
  rows.push(row)
  console.log(line(row))
}
const runtime = `Node ${process.versions.node}, ${setting()}`
console.log(runtime)
console.log(
  `Results agree within ${TOLERANCE}, absolute below 1 and relative above, or this fails.\n\n${head}`,
)
for (const threads of THREADS) {
  /** @type {Settings} */
  const settings = { threads, effort: quick ? QUICK : THOROUGH, only }
  await inProcess(new URL('contest.js', import.meta.url), settings, report)
  for (const row of await firstLoads(settings)) report({ row })
}
console.log([LEGEND, ...notes].join('\n'))
if (json) writeFileSync(json, `${JSON.stringify({ runtime, quick, rows, notes }, null, 2)}\n`)
