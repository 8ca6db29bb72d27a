// Fails every allocation in turn, see allocations.js:
// node tests/fuzz/allocations.fuzz.js --seed N --minutes M

import { check, end, fuzz } from './allocations.js'
import { main } from './cli.js'

await main({
  name: 'allocations',
  unit: 'failed allocations',
  /** @param {number} seed even seeds run with one thread, odd ones with two */
  async batch(seed) {
    const { count, findings } = await fuzz(seed, 1 + (seed % 2))
    return { count, finding: findings.length > 0 ? findings.join('\n') : null }
  },
  async replay(call) {
    const [name, sizes, threads] = JSON.parse(call)
    return check(name, sizes, threads).then(
      () => null,
      (error) => error.message,
    )
  },
})
await end()
