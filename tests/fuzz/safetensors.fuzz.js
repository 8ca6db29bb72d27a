// Mutated safetensors files, see safetensors.js: node tests/fuzz/safetensors.fuzz.js --seed N --minutes M

import { main } from './cli.js'
import { check, fuzz } from './safetensors.js'

const FILES = 2000

await main({
  name: 'safetensors',
  unit: 'files',
  async batch(seed) {
    const { finding } = await fuzz(seed, FILES)
    if (finding === null) return { count: FILES, finding }
    const { base, file, chunks } = finding.drawn
    const words = [base, Buffer.from(file).toString('base64'), chunks].join(':')
    const text = `${finding.message}\nreplay: node tests/fuzz/safetensors.fuzz.js --replay ${words}`
    return { count: FILES, finding: text }
  },
  replay(given) {
    const [base, file, chunks] = given.split(':')
    const sizes = chunks.split(',').map(Number)
    return check({ base, file: Uint8Array.from(Buffer.from(file, 'base64')), chunks: sizes }).then(
      () => null,
      (error) => error.message,
    )
  },
})
