// Where the dots of a row and their numbers stand, so that all of them can be seen.

const FULL = 1.5 // the size of a value from which on its color is full

/** How strong a value’s color is, from 0 to 1. */
export const strength = (value: number): number => Math.min(1, Math.abs(value) / FULL)

/** The places that are numbers, from left to right. */
const inOrder = (xs: readonly number[]) =>
  xs.flatMap((x, i) => (Number.isNaN(x) ? [] : [i])).sort((a, b) => xs[a] - xs[b] || a - b)

/**
 * Stacks dots that would overlap: each dot stands as low as it can.
 *
 * @param xs the dots' places along the row, in pixels; NaN: it is not shown
 * @param room the height that the stacks may have; a higher one is pressed together
 * @returns how far each dot stands above the row's line
 */
export function stack(xs: readonly number[], radius: number, room: number): number[] {
  const placed: { x: number; y: number }[] = []
  const ys = xs.map(() => 0)
  const apart = 2 * radius
  for (const i of inOrder(xs)) {
    const near = placed.filter(({ x }) => xs[i] - x < apart)
    // The dot touches one of its neighbors or the line: the lowest place where it overlaps none.
    const places = [0, ...near.map(({ x, y }) => y + Math.sqrt(apart ** 2 - (xs[i] - x) ** 2))]
    const free = places.filter((at) =>
      near.every(({ x, y }) => (xs[i] - x) ** 2 + (at - y) ** 2 > apart ** 2 - 1e-6),
    )
    ys[i] = Math.min(...free)
    placed.push({ x: xs[i], y: ys[i] })
  }
  const highest = Math.max(...ys)
  return highest > room ? ys.map((y) => (y * room) / highest) : ys
}

/**
 * Moves labels apart, as little as possible, keeping their order.
 *
 * @param xs the labels' middles, in pixels; NaN: it is not shown
 * @param apart the least distance of two middles
 * @param ends the least and the largest middle
 */
export function spread(
  xs: readonly number[],
  apart: number,
  [left, right]: readonly [number, number],
): number[] {
  /**
   * Groups of labels that touch.
   * at: the first label's middle
   */
  const groups: { labels: number[]; at: number }[] = []
  const place = (labels: number[]) => {
    const wished = labels.reduce((sum, i, k) => sum + xs[i] - k * apart, 0) / labels.length
    return Math.max(left, Math.min(right - (labels.length - 1) * apart, wished))
  }
  for (const i of inOrder(xs)) {
    let labels = [i]
    let before = groups.at(-1)
    while (before && before.at + before.labels.length * apart > place(labels)) {
      labels = [...before.labels, ...labels]
      groups.pop()
      before = groups.at(-1)
    }
    groups.push({ labels, at: place(labels) })
  }
  const middles = xs.map(() => NaN)
  for (const { labels, at } of groups) labels.forEach((i, k) => (middles[i] = at + k * apart))
  return middles
}
