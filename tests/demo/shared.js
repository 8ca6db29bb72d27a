// Runs a command with one server of the page and one Chromium for all page tests that it runs, each of which
// would otherwise start its own.
//   node tests/demo/shared.js COMMAND [ARGUMENT ...]

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { launch, serve } from './browser.js'

const [server, browser] = await Promise.all([serve(), launch()])
const shared = JSON.stringify({ url: server.url, endpoint: browser.wsEndpoint() })
const [command, ...args] = process.argv.slice(2)
const env = { ...process.env, GPT_LAYERS_SHARED: shared }
const child = spawn(command, args, { stdio: 'inherit', env })
// Ctrl+C reaches every process.
for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP']))
  process.on(signal, () => child.kill(signal))
const [code] = await once(child, 'exit')
await browser.close()
server.stop()
process.exitCode = code ?? 1
