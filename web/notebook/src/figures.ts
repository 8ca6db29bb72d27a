// The arguments of plot, heatmap and dots as plain numbers.

const MOST = 100_000 // numbers of a figure

type Numbers = ArrayLike<number> | { toArray(): unknown }
type Named = Numbers | Record<string, Numbers>
interface Options {
  title?: string
}

/** What a tensor holds, or the value itself. */
const valuesOf = (value: unknown): unknown =>
  typeof (value as Partial<{ toArray(): unknown }>)?.toArray === 'function'
    ? (value as { toArray(): unknown }).toArray()
    : value

function numbersOf(name: string, value: unknown): number[] {
  const array = valuesOf(value)
  const numbers =
    Array.isArray(array) || ArrayBuffer.isView(array) ? Array.from(array as ArrayLike<number>) : null
  if (!numbers?.every((one) => typeof one === 'number') || numbers.length > MOST)
    throw new TypeError(`${name} should be an array or a tensor of one axis, at most ${MOST} numbers`)
  return numbers
}

/** One row of numbers, or one for each name. */
function rowsOf(figure: string, y: Named) {
  const isNamed = Object.getPrototypeOf(y ?? 0) === Object.prototype
  const rows = Object.entries(isNamed ? y : { '': y })
  return rows.map(([name, one]) => ({
    name,
    y: numbersOf(`${figure}: ${name || 'the first argument'}`, one),
  }))
}

/** Curves: plot(y), plot({ train, validation }). */
export const plot = (y: Named, { x, title = '' }: Options & { x?: Numbers } = {}) => ({
  kind: 'plot' as const,
  rows: rowsOf('plot', y),
  x: x === undefined ? null : numbersOf('plot: x', x),
  title,
})

/** A matrix as colors, with the names of its rows and columns. */
export function heatmap(
  matrix: { toArray(): unknown } | Numbers[],
  { rows = [], cols = [], title = '' }: Options & { rows?: unknown[]; cols?: unknown[] } = {},
) {
  const all = valuesOf(matrix)
  if (!Array.isArray(all))
    throw new TypeError('heatmap: matrix should be rows of numbers, or a tensor of two axes')
  const numbers = all.map((row, i) => numbersOf(`heatmap: row ${i}`, row))
  return { kind: 'heatmap' as const, matrix: numbers, rows: rows.map(String), cols: cols.map(String), title }
}

/** Rows of dots on one axis: dots(row), dots({ before, after }). */
export const dots = (row: Named, { title = '' }: Options = {}) => ({
  kind: 'dots' as const,
  rows: rowsOf('dots', row),
  title,
})
