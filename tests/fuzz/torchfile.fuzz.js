// Changed files of torch.save, see torchfile.js: node tests/fuzz/torchfile.fuzz.js --seed N --minutes M

import { main } from './cli.js'
import { check, fuzz } from './torchfile.js'

const FILES = 500

await main({
  name: 'torchfile',
  unit: 'files',
  async batch(seed) {
    const { finding } = await fuzz(seed, FILES)
    if (finding === null) return { count: FILES, finding }
    const words = Buffer.from(JSON.stringify(finding.drawn)).toString('base64')
    const text = `${finding.message}\nreplay: node tests/fuzz/torchfile.fuzz.js --replay ${words}`
    return { count: FILES, finding: text }
  },
  replay: (given) =>
    check(JSON.parse(Buffer.from(given, 'base64').toString())).then(
      () => null,
      (error) => error.message,
    ),
})
