// A logarithmic axis for the section’s charts.

import { scaleLog } from '../../scales.ts'
import { power } from './words.ts'

const LEVELS = 4 // ticks at most
const MARGIN = 0.06 // of the axis at both ends; curves may reach into it

/** What a log axis can show. */
export const drawn = (value: number) => value > 0 && value < Infinity

/** @param values those that are 0 or overflowed have no place on the axis */
export function logAxis(values: readonly number[]) {
  const exponents = values.filter(drawn).map(Math.log10)
  let least = Math.floor(exponents.reduce((a, b) => Math.min(a, b), 0))
  const top = exponents.reduce((a, b) => Math.max(a, b), 0)
  const most = Math.ceil(top - MARGIN * (top - least))
  if (most - least < 2) least = most - 2
  const every = Math.ceil((most - least) / LEVELS)
  const ticks = []
  // One of the ticks is 1.
  for (let exponent = Math.ceil(least / every) * every; exponent <= most; exponent += every)
    ticks.push(10 ** exponent)
  const margin = (most - least) * MARGIN
  return { scale: scaleLog([10 ** (least - margin), 10 ** (most + margin)], [0, 1]), ticks, text: power }
}
