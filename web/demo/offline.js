// The plugin for Vite that makes a service worker: sw.js, with the list of what it caches at once, and a digest
// as its version.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const source = readFileSync(new URL('src/sw.js', import.meta.url), 'utf8')

/**
 * @param {RegExp} later built files that are not kept at once
 * @param {string[]} beside further files
 */
export const offline = (later, beside) => ({
  name: 'offline',
  apply: 'build',
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      const files = Object.keys(bundle)
        .filter((name) => name !== 'index.html' && !later.test(name) && !name.endsWith('.map'))
        .concat(beside)
        .sort()
      const digest = createHash('sha256')
      for (const name of Object.keys(bundle).sort())
        digest.update(bundle[name].code ?? bundle[name].source ?? '')
      const constants = `const FILES = ${JSON.stringify(files)}\nconst VERSION = '${digest.digest('hex')}'\n`
      this.emitFile({ type: 'asset', fileName: 'sw.js', source: constants + source })
    },
  },
})
