// A link to a section lands there. Sections above it arrive later and have their room already.

/** The section that the address leads to; '' if none. */
export const linked = () => location.hash.slice(1)

const INPUTS = ['wheel', 'touchstart', 'pointerdown', 'keydown']

/**
 * Goes to the section of the address's hash, which was not there when the browser looked for it.
 *
 * @param arrived when all sections are there: then again, unless the reader has gone elsewhere meanwhile
 */
export function land(arrived: Promise<unknown>) {
  const go = () => document.getElementById(linked())?.scrollIntoView()
  let stays = true
  for (const input of INPUTS) addEventListener(input, () => (stays = false), { once: true, passive: true })
  go()
  arrived.then(() => stays && go())
}

/**
 * Reloads the page at a section. Only so a part is fetched that could not be: Firefox keeps the failure of an
 * `import()`, and Vite's loader does not fetch a failed style sheet again. Nothing is lost, because the page's state
 * is in the address.
 */
export function reloadAt(id: string) {
  location.hash = id
  location.reload()
}
