// When a finger drags, and when it scrolls the page.

const DRAG_FROM = 6 // pixels sideways

/** Whether a finger has clearly moved sideways from where it came down. Until then it changes nothing. */
export function isSideways(from: { x: number; y: number }, to: { x: number; y: number }): boolean {
  const across = Math.abs(to.x - from.x)
  return across >= DRAG_FROM && across >= 2 * Math.abs(to.y - from.y)
}
