// Logarithmic and linear axes for the section’s charts.

import { scaleLinear, scaleLog } from 'd3-scale'
import { power } from './words.js'

/** @import { Scale } from '../../components/Plot.svelte' */

const LEVELS = 5 // ticks at most
const ROOM = 0.35 // the part of the axis that a name may take

/** @param {number} value */
const drawn = (value) => value > 0 && value < Infinity

/** @param {number[]} values of which those that are 0 or overflowed have no place on it */
export function logAxis(values) {
  const exponents = values.filter(drawn).map(Math.log10)
  let least = Math.floor(exponents.reduce((a, b) => Math.min(a, b), 0))
  const most = Math.ceil(exponents.reduce((a, b) => Math.max(a, b), 0))
  if (most - least < 2) least = most - 2
  const every = Math.ceil((most - least) / LEVELS)
  const ticks = []
  for (let exponent = most; exponent >= least; exponent -= every) ticks.unshift(10 ** exponent)
  // Room for the names above and below the lines.
  const margin = (most - least) * 0.12
  return { scale: scaleLog([10 ** (least - margin), 10 ** (most + margin)], [0, 1]), ticks, text: power }
}

/** @param {number[]} values */
export function linearAxis(values) {
  const finite = values.filter(Number.isFinite)
  const least = finite.reduce((a, b) => Math.min(a, b), 0)
  const most = finite.reduce((a, b) => Math.max(a, b), 0)
  const margin = (most - least) * 0.05 || 1
  const scale = scaleLinear([least - margin, most + margin], [0, 1])
  return { scale, ticks: scale.ticks(4), text: brief }
}

/** As short as it has to be beside an axis. @param {number} value */
const brief = (value) => {
  const size = Math.abs(value)
  if (size === 0 || (size >= 0.01 && size < 1e4))
    return String(Number(value.toPrecision(3))).replace('-', '−')
  return Number(value.toPrecision(2)).toExponential().replace('+', '').replaceAll('-', '−')
}

/**
 * Both stacks as curves on a log axis. Each curve's name is at its middle, on the side away from the other
 * curve.
 *
 * @param {{ without: number[], with: number[] }} values
 * @param {number} from what the first of them stands at
 * @param {Scale} scale of the axis
 * @param {number} to where the axis ends on which they stand
 */
export function pair(values, from, scale, to) {
  const middle = Math.floor(values.with.length / 2)
  const names = { without: 'without layer norm', with: 'with layer norm' }
  const other = { without: values.with, with: values.without }
  return /** @type {const} */ (['without', 'with']).map((key) => {
    const all = values[key]
    const points = all
      .map((value, i) => /** @type {[number, number]} */ ([from + i, value]))
      .filter(([, value]) => drawn(value))
    const place = points[Math.min(middle, points.length - 1)]
    const above = key === 'with' ? !(all[middle] < other[key][middle]) : all[middle] > other[key][middle]
    return {
      name: names[key],
      line: key === 'with' ? /** @type {const} */ ('solid') : /** @type {const} */ ('dashed'),
      points,
      ...(place && named(points, place, above, scale, (x) => (x - from) / (to - from))),
    }
  })
}

/**
 * The position of a curve's name, clear of the curve: above a rising curve the name ends there; below, it
 * begins.
 *
 * @param {[number, number][]} points
 * @param {[number, number]} place
 * @param {boolean} above
 * @param {Scale} scale
 * @param {(x: number) => number} share of the axis that is before it
 */
function named(points, [x, y], above, scale, share) {
  const [low, high] = scale.domain()
  const rises = points[points.length - 1][1] > points[0][1]
  const end = share(x) > 1 - ROOM || (above === rises && share(x) > ROOM)
  return {
    label: /** @type {[number, number]} */ ([x, y * (high / low) ** (above ? 0.06 : -0.12)]),
    anchor: end ? /** @type {const} */ ('end') : /** @type {const} */ ('start'),
  }
}
