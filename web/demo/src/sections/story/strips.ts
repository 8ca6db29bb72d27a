// Draws the rows of all norms on a canvas, before and after each: thousands of dots, several times a second.

import { strength } from '../../components/dots.ts'
import { scaleWithin } from '../../scales.ts'
import { deviationsOf } from '../../writer/norms.ts'
import { zoom } from '../../zoom.ts'

/** A row with more numbers than this is drawn as specks, not as dots. */
export const MANY = 200
const SPECK = 1.6 // pixels
const LEVELS = 6 // of color, for each sign
const GOLDEN = 0.618034 // spreads a row's numbers over its height: the k-th stands at the fraction k · GOLDEN
const MARGIN = 4 // pixels of a row above and below its numbers
const GAP = 12 // pixels beside each of the two axes
const WIDE = 2 // deviations to either side that an axis shows

/** @returns what an axis shows to either side of zero: a power of 2, so that it seldom changes */
export const limitFor = (deviations: readonly number[]): number =>
  2 ** Math.ceil(Math.log2(WIDE * Math.max(...deviations.filter(Number.isFinite), 0.25)))

/** The page's colors by their names, as they are now. */
const NAMES = ['above', 'below', 'line', 'with'] as const
export type Colors = Record<(typeof NAMES)[number], string>

export function colorsOf(element: HTMLElement): Colors {
  const probe = document.createElement('span')
  element.append(probe)
  const colors = NAMES.map((name) => {
    probe.style.color = `var(--${name})`
    return [name, getComputedStyle(probe).color]
  })
  probe.remove()
  return Object.fromEntries(colors)
}

interface Drawing {
  /** [norms, 2, width]: before and after each norm. */
  rows: Float32Array
  stats: Float32Array
  /** Of the text with all norms, to compare with. */
  beside: Float32Array | null
  norms: number
  /** How far the axis goes to either side; values beyond it are drawn at its edge. */
  limit: number
  /** Pixels of a row. */
  row: number
  /** Pixels of the canvas. */
  width: number
}

export function draw(canvas: HTMLCanvasElement, drawing: Drawing, colors: Colors) {
  const { rows, stats, beside, norms, limit, row, width } = drawing
  const ratio = devicePixelRatio * zoom()
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(norms * row * ratio) })
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  context.scale(ratio, ratio)
  const sides = [0, 1].map((side) =>
    scaleWithin([-limit, limit], [(side * width) / 2 + GAP, ((side + 1) * width) / 2 - GAP]),
  )
  sides.forEach((x, side) => {
    context.fillStyle = colors.line
    context.fillRect(x(0) - 0.5, 0, 1, norms * row)
    context.globalAlpha = 0.6
    context.fill(band(x, side, stats))
    context.globalAlpha = 1
    context.lineWidth = 2
    context.strokeStyle = colors.with
    if (beside) context.stroke(band(x, side, beside))
  })

  /** From the mean minus the deviation to the mean plus the deviation, from norm to norm. */
  function band(x: (value: number) => number, side: number, stats: Float32Array): Path2D {
    const path = new Path2D()
    const edge = (i: number, sign: number) => {
      const { before, after } = deviationsOf({ stats }, i)
      return x(stats[4 * i + 2 * side] + sign * (side ? after : before))
    }
    for (let i = 0; i < norms; i++) for (const y of [i, i + 1]) path.lineTo(edge(i, -1), y * row)
    for (let i = norms - 1; i >= 0; i--) for (const y of [i + 1, i]) path.lineTo(edge(i, 1), y * row)
    path.closePath()
    return path
  }

  const length = rows.length / norms / 2
  const isSpeck = length > MANY
  const byLevel: Map<number, [x: number, y: number][]> = new Map()
  rows.forEach((value, at) => {
    if (!Number.isFinite(value)) return
    const k = at % length
    const place = (at - k) / length // two for each norm
    const level = Math.ceil(strength(value) * LEVELS) * (value < 0 ? -1 : 1)
    const x = sides[place % 2](Math.max(-limit, Math.min(limit, value)))
    const y = Math.floor(place / 2) * row + MARGIN + ((k * GOLDEN) % 1) * (row - 2 * MARGIN)
    const points = byLevel.get(level)
    if (points) points.push([x, y])
    else byLevel.set(level, [[x, y]])
  })
  for (const [level, points] of [...byLevel].sort(([a], [b]) => Math.abs(a) - Math.abs(b))) {
    context.fillStyle = level < 0 ? colors.below : colors.above
    context.globalAlpha = 0.3 + (0.7 * Math.abs(level)) / LEVELS
    context.beginPath()
    for (const [x, y] of points) {
      // 25 norms of 768 numbers as paths would take longer than a frame.
      if (isSpeck) context.fillRect(x - SPECK / 2, y - SPECK / 2, SPECK, SPECK)
      else context.roundRect(x - 2, y - 2, 4, 4, 2)
    }
    context.fill()
  }
}
