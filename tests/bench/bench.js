// `./build.sh bench`: gpt-layers beside its peers in Node. After a build, another Node can run this file
// directly.

import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { firstLoads } from './costs.js'
import { main as generate } from './generate/node.js'
import { program, THREADS } from './program.js'

const script = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))

/** @param {{ build: string, threads: number }} options @returns {Promise<number | null>} milliseconds */
async function timeInNewProcess(options) {
  const args = [script('load-once.js'), JSON.stringify(options)]
  return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout)
}

if (process.argv[2] === 'generate') {
  await generate(process.argv.slice(3))
  process.exit()
}
const peers = { onnxruntime: 'onnxruntime-web', tfjs: '@tensorflow/tfjs-backend-wasm' }
await program('bench', peers, async (settings, report) => {
  report({ runtime: `Node ${process.versions.node}` })
  for (const threads of THREADS) {
    // One process per number of threads: onnxruntime-web takes that number only once.
    const child = fork(script('contest-node.js'), [JSON.stringify({ ...settings, threads })])
    child.on('message', (message) => report(/** @type {Parameters<typeof report>[0]} */ (message)))
    const [code] = await once(child, 'exit')
    if (code !== 0) process.exit(1) // The child has printed why.
    for (const row of await firstLoads({ ...settings, threads }, timeInNewProcess)) report({ row })
  }
})
