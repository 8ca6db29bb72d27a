// Mutated safetensors files, see safetensors.js: node tests/fuzz/safetensors.fuzz.js --seed N --minutes M

import { main } from './cli.js'
import { examine, fuzz } from './safetensors.js'

const FILES = 2000

await main({
  name: 'safetensors',
  unit: 'files',
  async batch(seed) {
    const { files, finding } = await fuzz(seed, FILES)
    if (finding === null) return { count: files, finding }
    const bytes = Buffer.from(finding.file).toString('base64')
    const text = `${finding.message}\nreplay: node tests/fuzz/safetensors.fuzz.js --replay ${finding.base}:${bytes}`
    return { count: files, finding: text }
  },
  replay(given) {
    const [base, bytes] = given.split(':')
    return examine(Uint8Array.from(Buffer.from(bytes, 'base64')), base)
  },
})
