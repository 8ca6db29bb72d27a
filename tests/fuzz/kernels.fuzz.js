// Calls the kernels with arguments that a fuzzer chooses, and compares them with their references.

import { main } from './cli.js'
import { compile, fuzz, replay } from './kernels.js'

const INPUTS = 4000 // of a batch: about a million calls

const built = await compile()
if ('reason' in built) {
  console.log(`kernels: not run: ${built.reason}`)
} else {
  const { programs } = built
  let batches = 0
  await main({
    name: 'kernels',
    unit: 'kernel calls',
    // the builds in turn
    batch: (seed) => fuzz(programs[batches++ % programs.length], seed, INPUTS),
    replay: async (input) => {
      const results = await Promise.all(programs.map((program) => replay(program, [input])))
      return results.map((result) => result.finding).find((finding) => finding !== null) ?? null
    },
  })
}
