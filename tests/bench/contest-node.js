// One contest, in a process that bench.js has forked and that reports to it: contest-node.js SETTINGS

import { existsSync, readFileSync } from 'node:fs'
import * as ort from 'onnxruntime-web'
import { contest } from './contest.js'
import { compileLimits } from './limits.js'
import { onnxruntime } from './onnxruntime.js'
import { tfjs } from './tfjs.js'

const settings = JSON.parse(process.argv[2])
const modules = await compileLimits((name) => {
  const file = new URL(`../../build/${name}`, import.meta.url)
  return existsSync(file) ? readFileSync(file) : undefined
})
const peers = [onnxruntime(ort, settings.threads), await tfjs(settings.threads)]
try {
  await contest(settings, peers, modules, (message) => void process.send?.(message))
} catch (error) {
  console.error(error) // Uncaught, TensorFlow.js's own handler would hide where it was thrown.
  process.exit(1)
}
await new Promise((resolve) => process.send?.({}, resolve)) // Afterwards all messages have been sent.
process.exit() // The threads of onnxruntime-web would keep the process alive.
