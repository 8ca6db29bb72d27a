/** Sentences that have been said. */
const said = new Set()

/**
 * Says once on the console, while a program is being developed, why threads do not run.
 *
 * @param {string} reason
 */
export function warnOfOneThread(reason) {
  if (said.has(reason) || !inDevelopment()) return
  said.add(reason)
  console.warn(`gpt-layers: one thread runs, because ${reason}`)
}

/**
 * In a page: whether it comes from localhost. Elsewhere: as NODE_ENV says, but never in Deno, which would ask
 * the user for permission to read it.
 *
 * @returns {boolean}
 */
function inDevelopment() {
  const { Deno, location, process } = /** @type {any} */ (globalThis)
  if (location?.origin)
    return /^https?:\/\/(localhost|.+\.localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(location.origin)
  if (Deno) return false
  try {
    return process.env.NODE_ENV !== 'production'
  } catch {
    return false // no process, or the program must not read its environment
  }
}
