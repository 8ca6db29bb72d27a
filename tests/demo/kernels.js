// Counts what the page computes.

/** @import { Page } from 'puppeteer-core' */

/** Counts the calls of each kernel by the page, not by its workers; in the page, before its scripts. */
export function countKernels() {
  /** @type {Record<string, number>} */
  const calls = {}
  const instantiate = /** @type {any} */ (WebAssembly.instantiate)
  const counting = async (/** @type {any[]} */ ...given) => {
    const { exports } = await instantiate(...given)
    const counted = Object.entries(exports).map(([name, kernel]) => {
      if (typeof kernel !== 'function') return [name, kernel]
      calls[name] = 0
      return [name, (/** @type {any[]} */ ...all) => (calls[name]++, kernel(...all))]
    })
    return { exports: Object.fromEntries(counted) }
  }
  Object.assign(WebAssembly, { instantiate: counting })
  Object.assign(window, { calls })
}

/** How often each kernel has been called so far. @param {Page} page @returns {Promise<Record<string, number>>} */
export const kernels = (page) => page.evaluate('({ ...calls })').then((calls) => /** @type {any} */ (calls))
