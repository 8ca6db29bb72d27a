// Draws the rows of all norms on a canvas: thousands of dots, thirty times a second and more.

import { area } from 'd3-shape'
import { scaleWithin } from '../../scales.ts'
import type { Colors } from './canvas.ts'
import type { Step } from '../../writer/engine.ts'
import { drawDots, drawSpecks, GAP } from './marks.ts'

/** Numbers in a row, above which they are drawn as specks or strokes, not as dots. */
export const MANY = 200
const WIDE = 2.5 // deviations to either side that the axis shows

/** The axis's limits are among these, so that it seldom changes. */
const LIMITS = [1, 1.5, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64]

/** @returns what the axis shows to either side of zero */
export function limitFor(deviations: readonly number[]): number {
  const wished = WIDE * Math.max(...deviations.filter(Number.isFinite), 0.1)
  const power = wished > 64 ? 2 ** Math.ceil(Math.log2(wished / 64)) : 1
  return power * (LIMITS.find((limit) => limit * power >= wished) ?? 64)
}

const USUAL = 0.6 // the share of words whose deviations are at most `usual`

/**
 * @param trail the deviation for each word and norm; NaN where there is none
 * @returns what the largest deviation of a word usually is
 */
export function usual(trail: Float32Array, norms: number): number {
  const largest = Array.from({ length: trail.length / norms }, (_, t) =>
    Math.max(...trail.subarray(t * norms, (t + 1) * norms)),
  )
  const known = largest.filter(Number.isFinite).sort((a, b) => a - b)
  return known[Math.floor(USUAL * (known.length - 1))] ?? 0
}

/** What is drawn at a time: for each norm its rows before and after, with mean and variance. */
export interface Shown {
  /** [norms, 3, width]: before, normalized, after. */
  rows: Float32Array
  /** [norms, 4]: mean and variance before, mean and variance after. */
  stats: Float32Array
}

/**
 * On the way from one token to the next. A pulse goes from the first norm to the last; each row moves as it
 * passes.
 *
 * @param way from 0 to 1
 */
export function between(from: Shown, to: Step, way: number, norms: number): Shown {
  if (way >= 1 || from.rows.length !== to.rows.length) return to
  const mix = (a: Float32Array, b: Float32Array) => {
    const each = b.length / norms
    return b.map((value, i) => {
      const passed = Math.min(1, Math.max(0, 2 * way - Math.floor(i / each) / norms))
      return a[i] + (value - a[i]) * passed * passed * (3 - 2 * passed)
    })
  }
  return { rows: mix(from.rows, to.rows), stats: mix(from.stats, to.stats) }
}

interface Drawing {
  shown: Shown
  norms: number
  /** How far the axis goes to either side. */
  limit: number
  /** The stats of the text with all norms, to compare with. */
  beside: Float32Array | null
  /** Where the pulse is, in rows; NaN for none. */
  pulse: number
  /** Pixels. */
  row: number
}

export function draw(
  context: CanvasRenderingContext2D,
  width: number,
  { shown, norms, limit, beside, pulse, row }: Drawing,
  colors: Colors,
) {
  const { rows, stats } = shown
  const length = rows.length / norms / 3
  const half = width / 2
  for (const side of [0, 1]) {
    const left = side * half + GAP
    const right = (side + 1) * half - GAP
    const x = scaleWithin([-limit, limit], [left, right])
    const zero = x(0)
    context.fillStyle = colors.line
    context.fillRect(zero - 0.5, 0, 1, norms * row)
    const y = (i: number) => (i + 0.5) * row
    context.fillStyle = colors.line
    context.globalAlpha = 0.6
    context.fill(envelope(stats))
    context.globalAlpha = 1
    context.strokeStyle = colors.edge
    context.lineWidth = 1
    context.stroke(envelope(stats))
    if (beside) {
      context.strokeStyle = colors.with
      context.lineWidth = 2
      context.stroke(envelope(beside))
    }
    /** A band from the mean minus the deviation to the mean plus the deviation, from norm to norm. */
    function envelope(stats: Float32Array) {
      const inner = Array.from({ length: norms }, (_, norm) => ({ norm, at: y(norm) }))
      const points = [{ norm: 0, at: 1 }, ...inner, { norm: norms - 1, at: norms * row - 1 }]
      const edge = (sign: number) => (point: { norm: number }) => {
        const [mean, variance] = stats.subarray(4 * point.norm + 2 * side)
        return x(mean + sign * Math.sqrt(variance))
      }
      const band = area<{ norm: number; at: number }>().y(({ at }) => at)
      band.x0(edge(-1)).x1(edge(1))
      return new Path2D(band(points) ?? '')
    }
  }
  const drawAll = length > MANY ? drawSpecks : drawDots
  drawAll(context, width, { rows, norms, limit, row }, colors)
  if (pulse >= 0 && pulse < norms) {
    context.fillStyle = colors.text
    context.globalAlpha = 0.3
    context.fillRect(0, pulse * row, width, 2)
    context.globalAlpha = 1
  }
}
