// Apart from the other files here: `load` warns also where it does not import the code of the threads.

/** Sentences that have been said. */
const said = new Set()

/** Says a sentence once on the console, while a program is being developed. */
export function warnOnce(sentence: string): void {
  if (said.has(sentence) || !inDevelopment()) return
  said.add(sentence)
  console.warn(`gpt-layers: ${sentence}`)
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
