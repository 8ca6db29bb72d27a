// `npm run bench`: gpt-layers beside its peers in Node, whichever Node runs it: once all is built, another one can
// be given this file.

import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { firstLoads } from './costs.js'
import { program, THREADS } from './program.js'

const script = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))

/** @param {{ build: string, threads: number }} options @returns {Promise<number | null>} milliseconds */
async function timeInNewProcess(options) {
  const args = [script('load-once.js'), JSON.stringify(options)]
  return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout)
}

const peers = { onnxruntime: 'onnxruntime-web', tfjs: '@tensorflow/tfjs-backend-wasm' }
await program('bench', peers, async (settings, report) => {
  report({ runtime: `Node ${process.versions.node}` })
  for (const threads of THREADS) {
    // a process each, since onnxruntime-web takes its number of threads once and for all
    const child = fork(script('contest-node.js'), [JSON.stringify({ ...settings, threads })])
    child.on('message', report)
    const [code] = await once(child, 'exit')
    if (code !== 0) process.exit(1) // it has said why
    for (const row of await firstLoads({ ...settings, threads }, timeInNewProcess)) report({ row })
  }
})
