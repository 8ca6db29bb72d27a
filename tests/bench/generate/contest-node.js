// One contest, in a process that node.js has forked and that reports to it: contest-node.js TASK

/** @import { Entrant } from './contest.js' */
/** @import { OwnModel } from './entrants.js' */
/** @import { Message, Settings } from './program.js' */

import { readFileSync } from 'node:fs'
import * as ort from 'onnxruntime-web'
import { contest } from './contest.js'
import { onnxruntimeEntrants, ourEntrants, restOfPeer } from './entrants.js'
import { ENGINES, FORMATS, nameOf } from './labels.js'
import { isInstalled, openLlama } from './llama.js'
import { textOf } from './model.js'
import { share, SHARE_EFFORT } from './share.js'

/**
 * @typedef {Settings & { threads: number, memoryOf?: string }} Task memoryOf: measure only
 *   the memory of this contestant
 */

const { memoryOf, ...settings } = /** @type {Task} */ (JSON.parse(process.argv[2]))
const { threads, config } = settings

const report = (/** @type {Message} */ message) => void process.send?.(message)

process.on('disconnect', () => process.exit(1)) // node.js was stopped

/** @type {Map<Entrant, OwnModel>} */
const models = new Map()
const { entrants: ours, notes } = await ourEntrants(config, threads, models)
const native = (/** @type {typeof FORMATS[number]} */ weights) => ({
  engine: ENGINES.llama,
  weights,
  build: '',
  threads,
  rest: restOfPeer(threads),
  open: () => openLlama(config, weights, threads),
})
/** @type {Entrant[]} */
const entrants = [
  ...ours,
  ...onnxruntimeEntrants(ort, config, threads),
  ...(isInstalled() ? FORMATS.map(native) : []),
]

/** The bytes of this process that are in memory. */
function memory() {
  globalThis.gc?.()
  return process.memoryUsage().rss
}

/** Writes a few tokens, so that all buffers exist. @param {Entrant} entrant */
async function measureMemory({ open }) {
  const before = memory()
  const writer = await open()
  await writer.hold(textOf(64))
  await writer.write('a', 8)
  report({ memory: memory() - before })
}

async function run() {
  for (const note of notes) report({ note })
  const opened = await contest(
    settings,
    entrants,
    (row) => report({ row: { ...row, run: threads } }),
    (note) => report({ note }),
  )
  if (threads > 1) return
  const limits = await WebAssembly.compile(
    readFileSync(new URL('../../../build/limits-simd.wasm', import.meta.url)),
  )
  for (const { entrant, writer } of opened) {
    const own = models.get(entrant)
    if (!own || entrant.weights !== 'int8, cache too') continue
    report({ share: await share(own.gpt, own.model, writer, limits, SHARE_EFFORT) })
  }
}

try {
  if (memoryOf === undefined) await run()
  else for (const entrant of entrants) if (nameOf(entrant) === memoryOf) await measureMemory(entrant)
} catch (error) {
  console.error(error)
  process.exit(1)
}
await new Promise((resolve) => process.send?.({}, resolve)) // Afterwards all messages have been sent.
process.exit() // The threads of onnxruntime-web would keep the process alive.
