// What the keys mean in dots, number fields and charts.

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
