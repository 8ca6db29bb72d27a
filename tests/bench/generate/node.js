// `./build.sh bench generate`: in Node.

/** @import { Message } from './program.js' */
/** @import { Row as LayerRow } from '../contest.js' */

import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { THOROUGH } from '../measure.js'
import { THREADS } from '../program.js'
import { nodeFor } from '../node.js'
import { selects } from '../select.js'
import { ENGINES, FORMATS, nameOf, OWN_WEIGHTS, WEIGHTS } from './labels.js'
import { isInstalled } from './llama.js'
import { program } from './program.js'

/** The rows of the other bench that are goals, too. */
const LAYERS = '^(FeedForward|Attention) T=(1|6) threads=1$'

/** One that has all builds, if there is one. */
const NODE = nodeFor('relaxed')

const runtime = async () => `Node ${(await promisify(execFile)(NODE, ['--version'])).stdout.trim().slice(1)}`

/**
 * Runs a script in a process of its own, because onnxruntime-web takes the number of threads only once.
 *
 * @param {string} name
 * @param {object} task
 * @param {(message: Message) => void} report
 */
async function run(name, task, report) {
  const file = fileURLToPath(new URL(name, import.meta.url))
  const options = { execPath: NODE, execArgv: ['--expose-gc'] }
  const child = fork(file, [JSON.stringify(task)], options)
  child.on('message', (message) => report(/** @type {Message} */ (message)))
  const [code] = await once(child, 'exit')
  if (code !== 0) process.exit(1) // The child has printed why.
}

/** The contestants whose memory is measured, each in a process of its own. */
const MEASURED = [
  ...OWN_WEIGHTS.map((weights) => ({ engine: ENGINES.ours, weights, build: 'simd' })),
  ...WEIGHTS.map((weights) => ({ engine: ENGINES.onnxruntime, weights, build: '' })),
  ...(isInstalled() ? FORMATS : []).map((weights) => ({ engine: ENGINES.llama, weights, build: '' })),
].map(nameOf)

/** @param {string[]} args */
export async function main(args) {
  await program('bench', args, ['onnxruntime-web'], async (settings, report) => {
    const { only } = settings
    report({ runtime: await runtime() })
    /** @type {Map<string, number>} */
    const bytes = new Map()
    for (const name of MEASURED) {
      if (!selects(only, { operation: name, threads: 1 })) continue
      const task = { ...settings, threads: 1, memoryOf: name }
      await run('contest-node.js', task, ({ memory }) => memory && bytes.set(name, memory))
    }
    for (const threads of THREADS) {
      await run('contest-node.js', { ...settings, threads }, (message) => {
        const { row } = message
        const memory = row && row.threads === 1 && threads === 1 ? bytes.get(nameOf(row)) : undefined
        report(row ? { row: { ...row, memory } } : message)
      })
    }
    if (selects(only, { operation: 'layers', threads: 1 })) {
      const task = { threads: 1, effort: THOROUGH, only: LAYERS }
      await run('../contest-node.js', task, ({ row }) => {
        if (row) report({ layer: /** @type {LayerRow} */ (/** @type {unknown} */ (row)) })
      })
    }
    if (!isInstalled()) {
      report({
        note: 'Native llama.cpp is not installed: npm install --prefix tests/bench/native',
      })
    }
  })
}
