// Scales of axes, with the methods of d3-scale's. That one also has scales of colors and dates, and formats,
// which were 9 kB gzipped of the first load.

/** About `count` multiples of 1, 2 or 5 times a power of ten. */
function ticks(min: number, max: number, count: number): number[] {
  const least = (max - min) / count
  const power = 10 ** Math.floor(Math.log10(least))
  const step = power * ([1, 2, 5].find((factor) => factor * power > least * 0.7) ?? 10)
  // A division gives 0.3 where a multiplication gives 0.30000000000000004.
  const at = (i: number) => (step < 1 ? i / Math.round(1 / step) : i * step)
  const first = Math.ceil(min / step)
  return Array.from({ length: Math.max(0, Math.floor(max / step) - first + 1) }, (_, i) => at(first + i) + 0)
}

type Pair = readonly [number, number]

export interface Scale {
  /**
   * From a number to its place, to a hundredth of a pixel. The place is always finite: ∞ has the end of the range,
   * NaN its beginning.
   */
  (value: number): number
  invert(place: number): number
  domain(): Pair
  range(): Pair
  /** About `count` round numbers of the domain. */
  ticks(count: number): number[]
  /** The same scale over other places. */
  over(range: Pair): Scale
}

function scale(domain: Pair, range: Pair, to: (value: number) => number, from: typeof to): Scale {
  const [first, last] = domain.map(to)
  const factor = (range[1] - range[0]) / (last - first)
  const placeOf = (value: number) => {
    const place = Math.round(100 * (range[0] + factor * (to(value) - first))) / 100
    return Number.isFinite(place) ? place : range[value > 0 ? 1 : 0]
  }
  return Object.assign(placeOf, {
    invert: (place: number) => from(first + (place - range[0]) / factor),
    domain: () => domain,
    range: () => range,
    ticks: (count: number) => ticks(...domain, count),
    over: (other: Pair) => scale(domain, other, to, from),
  })
}

/** Numbers outside the domain have the place of the nearest inside. */
export const scaleWithin = ([min, max]: Pair, range: Pair) =>
  scale(
    [min, max],
    range,
    (value) => Math.min(max, Math.max(min, value)),
    (value) => value,
  )

/** The same, but places go with the square root: small numbers have more room. */
export function scaleRoot([min, max]: Pair, range: Pair): Scale {
  const root = (value: number) => Math.sign(value) * Math.sqrt(Math.abs(value))
  const square = (value: number) => value * Math.abs(value)
  const x = scale([min, max], range, (value) => root(Math.min(max, Math.max(min, value))), square)
  return Object.assign(x, { ticks: (count: number) => ticks(root(min), root(max), count).map(square) })
}
