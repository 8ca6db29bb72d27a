// What a row of dots is, and where its parts stand, in pixels.

import type { Row } from '../norm.ts'
import { cellText } from '../numbers.ts'
import { scaleWithin, type Scale } from '../scales.ts'
import { spread, stack } from './dots.ts'

/**
 * A row as a figure shows it. Its mean and variance are written at its end. The mean is a tick; one standard
 * deviation to either side is a bar under the dots.
 */
export interface DotRow extends Partial<Row> {
  values: Row['values']
  key: string
  label?: string
  /** A second line under the label. */
  note?: string
  /** Called with a dot's ghost where a drag is taken back; by default `onmove` is, with the dot's value. */
  onback?: (i: number, value: number) => void
  /** Where the dots were: rings. */
  ghosts?: readonly number[]
  /** The names of the values, such as x₁₁. */
  names?: readonly string[]
  /** Called with the new value of the i-th dot. A row without it cannot be changed. */
  onmove?: (i: number, value: number) => void
  /** The row's own axis, drawn below it, where its values do not fit on the figure's. */
  domain?: readonly [number, number]
  /** Draws lines from the dots of the row above to the same dots in this row. */
  threads?: boolean
  /**
   * A strip or a pile shows hundreds of values as strokes, which are longer where there are more values. A
   * pile is taller than a strip and stands on the row's line.
   */
  size?: 'large' | 'small' | 'strip' | 'pile'
  /** The height of the whole row, in pixels; by default that of its size. */
  height?: number
  /** Writes the values under their dots. */
  numbers?: boolean
  /** How many decimals the numbers and the statistics have: 2 by default, or 4. In a narrow figure the numbers have 2. */
  digits?: 2 | 4
  /** Of a row of strokes. */
  color?: 'with' | 'without'
  /**
   * The rows of a group show the same values: a dot that is pointed at is lit in all of them. By default all
   * rows are one group.
   */
  group?: string
  /** Dots to mark. */
  lit?: readonly number[]
}

/** The i-th dot of the row with this key. */
export type Pointed = { key: string; i: number }

/** What all rows share. */
export interface Frame {
  x: Scale
  /** Where the axis begins. */
  left: number
  /** Where it ends. */
  right: number
  /** The width of the figure. */
  width: number
  /** Labels and statistics stand above their row, not beside it. */
  narrow: boolean
}

/** A row and where its parts stand. */
export type Line = ReturnType<typeof layout>[number]

/** A dot's radius, the room above the row's line and below it, and the numbers' room. */
const SIZES = {
  large: { radius: 10, above: 50, below: 20, numbers: 24 },
  small: { radius: 6, above: 27, below: 9, numbers: 20 },
  strip: { radius: 0, above: 12, below: 12, numbers: 0 },
  pile: { radius: 0, above: 60, below: 6, numbers: 0 },
}
const LARGE_ON_A_PHONE = { radius: 8, above: 34, below: 16, numbers: 20 }
const HEAD = 22 // the line of label and statistics above a row
const FINGER = 12 // pixels above a dot's middle, at least, in which a finger takes it
const APART = 45 // between the middles of two numbers, at least
const LETTER = 7 // pixels of a letter
const LARGE_LETTER = 8.4 // of the large size
/** The room of an axis below the rows. */
export const AXIS = 26
const BIN = 2 // of the axis, whose values are one stroke

/** Where the bar of one deviation is: under the dots; on the line of a row of strokes. */
export const barOf = ({ y, size: { radius } }: Line) => (radius ? y + radius + 5 : y)

/**
 * An arrow where a value is beyond the axis, which shows it at its end.
 *
 * @param gap pixels between the axis' end and the arrow
 * @returns an SVG path; '' for a value within
 */
export function leaving(x: Scale, value: number, y: number, gap = 0): string {
  const [min, max] = x.domain()
  const side = value < min ? -1 : value > max ? 1 : 0
  return side ? `M${x(value) + side * gap} ${y - 4}l${side * 5} 4l${-side * 5} 4` : ''
}

/** The label above a row of a narrow figure, and the statistics on the right of it. */
export const labelOf = ({ label, note }: DotRow) => [label, note].filter(Boolean).join(', ')
export const summaryOf = (row: DotRow) =>
  statsOf(row)
    .map(([name, value]) => `${name} ${cellText(value, row.digits ?? 2)}`)
    .join(' · ')

/** The text of a number under its dot. */
export const numberText = ({ digits = 2 }: DotRow, value: number, narrow: boolean) =>
  cellText(value, narrow ? 2 : digits)

/** A row's statistics by their names, as far as it has them. */
export const statsOf = ({ mean, variance }: DotRow) =>
  Object.entries({ mean, variance }).filter((one): one is [string, number] => one[1] !== undefined)

/**
 * Whether a dot is lit.
 *
 * @param at the dot that the pointer is on; −1: none
 */
export const isLit = (row: DotRow, i: number, at: number) => i === at || Boolean(row.lit?.includes(i))

export function layout(rows: readonly DotRow[], { x: shared, left, right, width, narrow }: Frame) {
  let end = 0
  return rows.map((row) => {
    const top = end
    const x = row.domain ? scaleWithin(row.domain, [left, right]) : shared
    const size = sizeOf(row, narrow)
    const heads = [labelOf(row), summaryOf(row)].filter(Boolean)
    const head = narrow && heads.length ? HEAD * (heads.join('  ').length * LETTER > width ? 2 : 1) : 0
    const y = top + head + size.above
    const longest = row.numbers
      ? Math.max(...row.values.map((value) => numberText(row, value, narrow).length))
      : 0
    const least = Math.max(APART, longest * LETTER)
    // Large text needs more, where there is room.
    const apart = Math.max(least, Math.min(longest * LARGE_LETTER, (right - left) / row.values.length))
    const fits = Boolean(row.numbers) && row.values.length * least <= right - left + least
    end = y + size.below + (fits ? size.numbers : 0) + (row.domain ? AXIS : 0)
    const xs = row.values.map((value) => (Number.isNaN(value) ? NaN : x(value)))
    return {
      row,
      size,
      x,
      top,
      /** The row's line. */
      y,
      /** Where the label and the statistics stand above the row: on one line if both fit, otherwise on two. */
      headlines: [top + HEAD - 4, top + Math.max(HEAD, head) - 4],
      /** The values along the row. NaN has no place. */
      xs,
      /** How far each dot stands above the row's line; empty if the values are strokes. */
      ys: size.radius ? stack(xs, size.radius, size.above - FINGER) : [],
      /** The middles of the written numbers; empty if they have no room. */
      labels: fits ? spread(xs, apart, [left + 4, right - 4]) : [],
      end,
    }
  })
}

function sizeOf({ size: name = 'large', height }: DotRow, narrow: boolean) {
  const size = narrow && name === 'large' ? LARGE_ON_A_PHONE : SIZES[name]
  if (!height) return size
  const below = size.above === size.below ? height / 2 : Math.min(size.below, height / 2)
  return { ...size, above: height - below, below }
}

/** @returns the x of the stroke that counts a value at this x */
export const binOf = (x: number): number => BIN * Math.round(x / BIN)

/**
 * Strokes for many values: each is as long as its bin is full. What is outside the axis is left out.
 *
 * @returns an SVG path
 */
export function strokes({ row, size, x, xs, y }: Line): string {
  const bins: Map<number, number> = new Map()
  const [min, max] = x.domain()
  row.values.forEach((value, i) => {
    if (!(value >= min && value <= max)) return
    const bin = binOf(xs[i])
    bins.set(bin, (bins.get(bin) ?? 0) + 1)
  })
  const most = Math.max(...bins.values(), 1)
  const pile = row.size === 'pile'
  const [least, longest] = pile ? [0, size.above - 6] : [5, 2 * Math.min(size.above, size.below) - 4]
  return [...bins]
    .map(([bin, count]) => {
      const length = least + ((longest - least) * count) / most
      return `M${bin} ${(pile ? y : y + length / 2).toFixed(1)}v${(-length).toFixed(1)}`
    })
    .join('')
}
