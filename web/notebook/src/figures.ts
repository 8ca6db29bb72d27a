// The arguments of plot, heatmap and dots as plain numbers.

const MOST = 100_000 // numbers of a figure

type Numbers = ArrayLike<number> | { toArray(): unknown }
interface Options {
  title?: string
}

function numbersOf(name: string, value: unknown): number[] {
  const given = value as { toArray?: () => unknown } | null
  const array = typeof given?.toArray === 'function' ? given.toArray() : value
  const numbers =
    Array.isArray(array) || ArrayBuffer.isView(array) ? Array.from(array as ArrayLike<number>) : null
  if (!numbers?.every((one) => typeof one === 'number') || numbers.length > MOST)
    throw new TypeError(`${name} should be an array or a tensor of one axis, at most ${MOST} numbers`)
  return numbers
}

/** A curve, or one for each name: plot(y), plot({ train, validation }). */
export function plot(
  y: Numbers | Record<string, Numbers>,
  { x, title = '' }: Options & { x?: Numbers } = {},
) {
  const isOne = Array.isArray(y) || ArrayBuffer.isView(y) || (typeof y === 'object' && y && 'toArray' in y)
  const named: [string, unknown][] = isOne ? [['', y]] : Object.entries(y ?? {})
  const curves = named.map(([name, one]) => ({ name, y: numbersOf(`plot: ${name || 'y'}`, one) }))
  if (!curves.length) throw new TypeError('plot: y should be numbers, or an object of numbers by name')
  return { kind: 'plot' as const, curves, x: x === undefined ? null : numbersOf('plot: x', x), title }
}

/** A matrix as colors, with the names of its rows and columns. */
export function heatmap(
  matrix: { toArray(): unknown } | Numbers[],
  { rows = [], cols = [], title = '' }: Options & { rows?: unknown[]; cols?: unknown[] } = {},
) {
  const { toArray } = Object(matrix)
  const all: unknown = typeof toArray === 'function' ? toArray.call(matrix) : matrix
  if (!Array.isArray(all))
    throw new TypeError('heatmap: matrix should be rows of numbers, or a tensor of two axes')
  const numbers = all.map((row, i) => numbersOf(`heatmap: row ${i}`, row))
  return { kind: 'heatmap' as const, matrix: numbers, rows: rows.map(String), cols: cols.map(String), title }
}

/** Numbers as dots on an axis. */
export const dots = (row: Numbers, { label = '', title = label }: Options & { label?: string } = {}) => ({
  kind: 'dots' as const,
  row: numbersOf('dots: row', row),
  title,
})
