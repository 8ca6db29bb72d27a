// What keys and pointers mean in dots, number fields and charts.

const KEYS: Readonly<Partial<Record<string, number>>> = {
  ArrowUp: 1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowLeft: -1,
  PageUp: 10,
  PageDown: -10,
  Home: -Infinity,
  End: Infinity,
}

/**
 * The steps of a key: arrows are one step, ten with shift and a tenth with alt. Page Up and Page Down are
 * ten, Home and End go to the ends.
 *
 * @returns signed; undefined if the key means nothing here
 */
export function stepsOf({ key, shiftKey, altKey }: KeyboardEvent): number | undefined {
  const steps = KEYS[key]
  return steps && steps * (shiftKey ? 10 : altKey ? 0.1 : 1)
}

export const clamp = (value: number, { min = -Infinity, max = Infinity }: { min?: number; max?: number }) =>
  Math.min(max, Math.max(min, value))

const DRAG_FROM = 6 // pixels sideways

/** Whether a finger has clearly moved sideways from where it came down. Until then it changes nothing. */
export function isSideways(from: { x: number; y: number }, to: { x: number; y: number }): boolean {
  const across = Math.abs(to.x - from.x)
  return across >= DRAG_FROM && across >= 2 * Math.abs(to.y - from.y)
}

/** How many pixels of the window a pixel of the page is. */
export const zoom = (): number => Number(document.documentElement.style.getPropertyValue('--zoom')) || 1

/** Where the pointer is in an element, in pixels of the page. */
export function placeIn(element: Element, { clientX, clientY }: MouseEvent): { x: number; y: number } {
  const { left, top } = element.getBoundingClientRect()
  return { x: (clientX - left) / zoom(), y: (clientY - top) / zoom() }
}
