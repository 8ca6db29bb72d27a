// Runs a command with one server of the page for all page tests that it runs, each of which would otherwise
// start its own. Each process starts its own browser: two connections to one Chromium end each other's
// emulation.
//   node tests/demo/shared.js COMMAND [ARGUMENT ...]

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { serve } from './browser.js'

const server = await serve()
const [command, ...args] = process.argv.slice(2)
const env = { ...process.env, GPT_LAYERS_SERVER: server.url }
const child = spawn(command, args, { stdio: 'inherit', env })
// Ctrl+C reaches every process.
for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP']))
  process.on(signal, () => child.kill(signal))
const [code] = await once(child, 'exit')
server.stop()
process.exitCode = code ?? 1
