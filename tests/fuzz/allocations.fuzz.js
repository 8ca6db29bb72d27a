// Fails every allocation in turn, see allocations.js:
// node tests/fuzz/allocations.fuzz.js --seed N --minutes M

import { fuzz } from './allocations.js'
import { main } from './cli.js'

/** @param {number} seed even seeds run with one thread, odd ones with two */
async function batch(seed) {
  const { count, findings } = await fuzz(seed, 1 + (seed % 2))
  if (findings.length === 0) return { count, finding: null }
  return {
    count,
    finding: `${findings.join('\n')}\nreplay: node tests/fuzz/allocations.fuzz.js --replay ${seed}`,
  }
}

await main({
  name: 'allocations',
  unit: 'failed allocations',
  batch,
  replay: async (seed) => (await batch(Number(seed))).finding,
})
