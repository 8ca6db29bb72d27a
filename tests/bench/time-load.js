/** @import { LoadOptions } from './ours.js' */

/**
 * @param {typeof import('../../dist/index.js').load} load the measured package's `load`
 * @param {LoadOptions} options
 * @returns {Promise<number | null>} milliseconds; null where this build or this many threads are not
 *   available
 */
export async function timeLoad(load, options) {
  const start = performance.now()
  let gpt
  try {
    gpt = await load(options)
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'UNSUPPORTED') throw error
    return null
  }
  const time = performance.now() - start
  const { threads } = gpt
  gpt.dispose()
  return threads === options.threads ? time : null
}
