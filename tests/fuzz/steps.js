// Counts the work of a call without a clock: how often each block of the package's code ran. Import this
// before any test calls the package: V8 counts in functions that it compiles later.

import { Session } from 'node:inspector'

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** @returns {number} how many blocks of the package's code ran since the last call of this */
function take() {
  let steps = 0
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    for (const { url, functions } of result) {
      if (!/\/(dist|web\/lib)\//.test(url)) continue
      for (const { ranges } of functions) for (const { count } of ranges) steps += count
    }
  })
  return steps
}

/**
 * @param {() => void | Promise<void>} fn
 * @returns {Promise<number>} how many blocks of the package's code it ran
 */
export async function countSteps(fn) {
  take()
  await fn()
  return take()
}
