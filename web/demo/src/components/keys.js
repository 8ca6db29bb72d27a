// What the keys mean in dots, number fields and charts.

const KEYS = {
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
 * @param {KeyboardEvent} event
 * @returns {number | undefined} signed; undefined if the key means nothing here
 */
export function stepsOf({ key, shiftKey, altKey }) {
  const steps = KEYS[/** @type {keyof typeof KEYS} */ (key)]
  return steps && steps * (shiftKey ? 10 : altKey ? 0.1 : 1)
}

/** @param {number} value @param {{ min?: number, max?: number }} limits */
export const clamp = (value, { min = -Infinity, max = Infinity }) => Math.min(max, Math.max(min, value))
