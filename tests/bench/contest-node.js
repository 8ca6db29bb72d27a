// One contest in a process of its own, which reports to the one that forked it: contest-node.js SETTINGS

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
  await contest(settings, peers, modules, (message) => process.send(message))
} catch (error) {
  console.error(error) // here, since TensorFlow.js's own handler would print where it throws it again
  process.exit(1)
}
await new Promise((resolve) => process.send({}, resolve)) // after it, all that was sent before has gone out
process.exit() // onnxruntime-web's threads would keep it alive
