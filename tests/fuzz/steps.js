// Counts the work of a call without a clock: how often each block of the package's code ran.

import { Session } from 'node:inspector/promises'

/**
 * @param {() => void} fn
 * @returns {Promise<number>} how many blocks of the package's code it ran; the same number each time
 */
export async function countSteps(fn) {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    fn()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => /\/(dist|web\/lib)\//.test(url))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
      .reduce((sum, { count }) => sum + count, 0)
  } finally {
    session.disconnect()
  }
}
