// `./build.sh bench generate`: writing text, beside other engines.

/** @import { Effort } from '../measure.js' */
/** @import { Message, Row } from './contest.js' */
/** @import { Column } from '../table.js' */

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { nodeFor } from '../node.js'
import { inProcess, readOptions, setting, THREADS } from '../program.js'
import { selects } from '../select.js'
import { digits, table } from '../table.js'
import { isInstalled } from './llama.js'
import { GPT2, TINY } from './model.js'
import { nameOf } from './steps.js'

const TINY_OPTION = '--tiny'

const USAGE = `usage: ./build.sh bench generate [option ...]

GPT-2 124M's shape with random weights, beside other engines: a prompt, and writing token by token.

  --json FILE      also write the figures to FILE
  --quick          fewer repetitions, for a first look
  ${TINY_OPTION}           a tiny model: shows whether the bench works, not how fast anybody is
  --only PATTERN   only the contestants that match this regular expression, case ignored: 'gpt-layers int8',
                   'threads=1', 'onnxruntime'. gpt-layers float32 simd always takes part: the others must agree
                   with it
  -h, --help       this text`

const LEGEND = `
Tokens per second, medians. All contestants run in turns. at 32, at 512: 24 tokens written around this length of the
text, always the most probable token. prompt of 128: the head on the last token. memory: in MB.
"cache too": keys and values in int8. Otherwise they are in float32; llama.cpp's are in float16.`

/** @type {Effort} */
const THOROUGH = { seconds: 0, rounds: 5, sample: 0, patience: Infinity }
/** @type {Effort} */
const QUICK = { ...THOROUGH, rounds: 2 }

/** A Node that has all builds, if there is one. */
const NODE = nodeFor('relaxed')

/** The contestants whose memory is measured, each in a process of its own. */
const MEASURED = [
  'gpt-layers float32 simd',
  'gpt-layers int8 simd',
  'gpt-layers int8, cache too simd',
  'onnxruntime-web float32',
  'onnxruntime-web int8',
  'llama.cpp, native float32',
  'llama.cpp, native Q8_0',
]

/** @typedef {Row & { memory?: number }} Line */

/** @param {number | undefined} seconds */
const rate = (seconds) => (seconds === undefined ? '' : digits(1 / seconds))

/** @type {Column<Line>[]} */
const COLUMNS = [
  { title: 'engine', width: 17, left: true, cell: ({ engine }) => engine },
  { title: 'weights', width: 15, left: true, cell: ({ weights }) => weights },
  { title: 'build', width: 7, left: true, cell: ({ build }) => build },
  { title: 'threads', width: 7, cell: ({ threads }) => String(threads) },
  { title: 'prompt of 128', width: 13, cell: ({ seconds }) => rate(seconds.prompt) },
  { title: 'at 32', width: 5, cell: ({ seconds }) => rate(seconds.at32) },
  { title: 'at 512', width: 6, cell: ({ seconds }) => rate(seconds.at512) },
  { title: 'memory', width: 6, cell: ({ memory }) => (memory ? (memory / 1e6).toFixed(0) : '') },
]

/** @param {string[]} args */
export async function main(args) {
  const tiny = args.includes(TINY_OPTION)
  const { json, quick, only } = readOptions(
    USAGE,
    args.filter((arg) => arg !== TINY_OPTION),
  )
  const script = new URL('contest.js', import.meta.url)
  const settings = { effort: quick ? QUICK : THOROUGH, only, config: tiny ? TINY : GPT2 }
  /** @type {Map<string, number>} */
  const bytes = new Map()
  for (const name of MEASURED) {
    if (!selects(only, { operation: name, threads: 1 })) continue
    const task = { ...settings, threads: 1, memoryOf: name }
    await inProcess(script, task, ({ memory }) => memory && bytes.set(name, memory), NODE)
  }
  const node = execFileSync(NODE, ['--version'], { encoding: 'utf8' }).trim()
  const runtime = `Node ${node.slice(1)}, ${setting()}`
  const { head, line } = table(COLUMNS)
  console.log(`${runtime}\n\n${head}`)
  /** @type {Line[]} */
  const rows = []
  const notes = isInstalled()
    ? []
    : ['Native llama.cpp is not installed: npm install --prefix tests/bench/native']
  for (const threads of THREADS) {
    const report = (/** @type {Message} */ { row, note }) => {
      if (note) notes.push(note)
      if (!row) return
      const one = { ...row, memory: threads === 1 ? bytes.get(nameOf(row)) : undefined }
      rows.push(one)
      console.log(line(one))
    }
    await inProcess(script, { ...settings, threads }, report, NODE)
  }
  console.log([LEGEND, ...notes].join('\n'))
  if (json) writeFileSync(json, `${JSON.stringify({ runtime, quick, tiny, rows, notes }, null, 2)}\n`)
}
