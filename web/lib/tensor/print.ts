// The text of a float32 tensor, character for character as PyTorch's `print` writes it on the CPU.
//
// The rules are those of torch/_tensor_str.py in torch 1.13.1, its quirks included:
//
// 1. A tensor of more than 1000 elements is summarized: an axis longer than 6 shows its first 3 and last 3
//    indices with "..." between. Only the values shown decide the format.
// 2. "Measured" values are those that are finite and not 0. They choose one notation for all values:
//      scientific  max|x| / min|x| > 1000, max|x| > 1e8 or min|x| < 1e-4
//      integer     otherwise, if every measured value is an integer, or there is none: "3."
//      fixed       otherwise: `precision` digits after the point
//    sciMode true or false decides instead, if there is any measured value.
// 3. One column width for all values: the widest measured value in the automatic notation, whatever sciMode
//    says. Wider texts (0, nan, inf, the other notation) are not cut; narrower ones are padded on the left.
// 4. A row continues on the next line after as many columns as fit into 80 characters. Rows are separated by
//    one line break, matrices by two, and so on.
// 5. A tensor without elements shows its shape instead, unless it has one axis: "tensor([], size=(0, 2))".

import { exponential, fixed } from './pyformat.ts'

/** PyTorch's linewidth, threshold and edgeitems: its default print options. */
const LINE_WIDTH = 80
const MAX_IN_FULL = 1000
const EDGE_ITEMS = 3

const PREFIX = 'tensor('

export interface PrintOptions {
  /**
   * scientific notation on or off, as `torch.set_printoptions(sci_mode=...)`; by default PyTorch's rules
   * choose
   */
  sciMode?: boolean
  /** digits after the point, 0 to 20; 4 by default */
  precision?: number
}

/**
 * The text that `torch.set_printoptions(sci_mode=sciMode, precision=precision)` and then `print(t)` write.
 *
 * @param data float32 values, row-major; only those that are shown are read
 * @param shape `[]` is a single value; an axis may be 0; not checked against data
 * @returns without a final newline
 * @example formatTensor([0.5, 1, Infinity], [3]) // 'tensor([0.5000, 1.0000,    inf])'
 */
export function formatTensor(
  data: ArrayLike<number>,
  shape: readonly number[],
  { sciMode, precision = 4 }: PrintOptions = {},
): string {
  const size = shape.reduce((product, n) => product * n, 1)
  if (size === 0) return formatEmpty(shape)

  const axes = shape.map((n) => shownIndices(n, size > MAX_IN_FULL))
  const { width, write } = chooseFormat(shownValues(data, shape, axes), sciMode, precision)

  const layOut = (axis: number, index: number): string => {
    if (axis === shape.length) return write(data[index])
    const rank = shape.length - axis
    const gap = rank === 1 ? ' ...' : '...'
    const items = axes[axis].map((i) => (i === GAP ? gap : layOut(axis + 1, index * shape[axis] + i)))
    const indent = PREFIX.length + axis
    const margin = ' '.repeat(indent + 1)
    if (rank > 1) return `[${items.join(',' + '\n'.repeat(rank - 1) + margin)}]`
    const perLine = Math.max(1, Math.floor((LINE_WIDTH - indent) / (width + ', '.length)))
    const lines = []
    for (let i = 0; i < items.length; i += perLine) lines.push(items.slice(i, i + perLine).join(', '))
    return `[${lines.join(',\n' + margin)}]`
  }
  return `${PREFIX}${layOut(0, 0)})`
}

function formatEmpty(shape: readonly number[]): string {
  if (shape.length === 1) return 'tensor([])'
  const suffix = `size=(${shape.join(', ')})`
  // PyTorch counts 4 more characters on this line; ', ' and ')' take only 3.
  const fits = 'tensor([]'.length + suffix.length + 4 <= LINE_WIDTH
  return `tensor([],${fits ? ' ' : '\n' + ' '.repeat(PREFIX.length)}${suffix})`
}

const GAP = null

function shownIndices(n: number, isSummarized: boolean): (number | typeof GAP)[] {
  const indices = (begin: number, end: number) => Array.from({ length: end - begin }, (_, i) => begin + i)
  if (!isSummarized || n <= 2 * EDGE_ITEMS) return indices(0, n)
  return [...indices(0, EDGE_ITEMS), GAP, ...indices(n - EDGE_ITEMS, n)]
}

function shownValues(
  data: ArrayLike<number>,
  shape: readonly number[],
  axes: readonly (number | typeof GAP)[][],
): number[] {
  let offsets = [0]
  axes.forEach((indices, axis) => {
    offsets = offsets.flatMap((offset) => indices.flatMap((i) => (i === GAP ? [] : offset * shape[axis] + i)))
  })
  return offsets.map((offset) => data[offset])
}

/** One notation and one column width for all values, to which `write` pads: rules 2 and 3. */
function chooseFormat(
  values: readonly number[],
  sciMode: boolean | null | undefined,
  precision: number,
): { width: number; write: (x: number) => string } {
  const measured = values.filter((x) => x !== 0 && Number.isFinite(x))
  const areIntegers = measured.every(Number.isInteger)
  let [min, max] = [Infinity, 0]
  for (const x of measured) [min, max] = [Math.min(min, Math.abs(x)), Math.max(max, Math.abs(x))]
  // In float64, as PyTorch compares: the float32 nearest to 1e-4 is below 1e-4.
  const isScientific = max / min > 1000 || max > 1e8 || min < 1e-4

  const writeIn = (x: number, inScientific: boolean): string => {
    if (Number.isNaN(x)) return 'nan'
    const sign = x < 0 || Object.is(x, -0) ? '-' : ''
    const size = Math.abs(x)
    if (size === Infinity) return sign + 'inf'
    if (inScientific) return sign + exponential(size, precision)
    return sign + (areIntegers ? fixed(size, 0) + '.' : fixed(size, precision))
  }
  const width = measured.reduce((widest, x) => Math.max(widest, writeIn(x, isScientific).length), 1)
  const chosen = measured.length > 0 && (sciMode ?? isScientific)
  return { width, write: (x) => writeIn(x, chosen).padStart(width) }
}
