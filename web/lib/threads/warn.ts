/** Reasons that have been said. */
const said = new Set()

/** Says on the console why one thread runs, once, while a program is being developed. */
export function warnOneThread(reason: string): void {
  if (said.has(reason) || !inDevelopment()) return
  said.add(reason)
  console.warn(`gpt-layers: one thread runs, because ${reason}`)
}

/**
 * In a page: whether it comes from localhost. Elsewhere: as NODE_ENV says, but never in Deno, which would ask
 * the user for permission to read it.
 */
function inDevelopment(): boolean {
  const { Deno, location, process } = globalThis
  if (location?.origin)
    return /^https?:\/\/(localhost|.+\.localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(location.origin)
  if (Deno) return false
  try {
    return process?.env.NODE_ENV !== 'production'
  } catch {
    return false // no process, or the program must not read its environment
  }
}
