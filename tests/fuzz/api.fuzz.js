// Random calls of the package, see api.js: node tests/fuzz/api.fuzz.js --seed N --minutes M

import { fuzz, replay } from './api.js'
import { main } from './cli.js'

const RUNS = 100

await main({
  name: 'api',
  unit: 'calls',
  async batch(seed) {
    const { calls, finding } = await fuzz(seed, RUNS)
    if (finding === null) return { count: calls, finding }
    const run = JSON.stringify(finding.run)
    const text = `${finding.message}\nreplay: node tests/fuzz/api.fuzz.js --replay '${run.replaceAll("'", "'\\''")}'`
    return { count: calls, finding: text }
  },
  replay: (run) =>
    replay(JSON.parse(run)).then(
      () => null,
      (error) => error.message,
    ),
})
