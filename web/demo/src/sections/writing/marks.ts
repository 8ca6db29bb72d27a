// Draws each number of the rows of all norms: as a dot, or, in rows of hundreds of numbers, as a speck.

import { strength } from '../../components/dots.ts'
import type { Colors } from './canvas.ts'

const LEVELS = 6 // of color, for each sign
const GOLDEN = 0.618034 // spreads a row's numbers over its height: the k-th stands at the fraction k · GOLDEN
const MARGIN = 3 // pixels of a row above and below its numbers
const SPECK = 1.6 // pixels

/** Pixels beside each of the two axes, before and after the norms. */
export const GAP = 12

interface Marks {
  /** [norms, 3, width]: before, normalized, after. */
  rows: Float32Array
  norms: number
  /** How far the axis goes to either side; values beyond it are drawn at its edge. */
  limit: number
  /** The height of a row, in pixels. */
  row: number
}

type DrawMarks = (context: CanvasRenderingContext2D, width: number, marks: Marks, colors: Colors) => void

/** @returns the level of a value's color, from -LEVELS to LEVELS */
const levelOf = (value: number): number => Math.ceil(strength(value) * LEVELS) * (value < 0 ? -1 : 1)
const opacityOf = (level: number) => 0.3 + (0.7 * Math.abs(level)) / LEVELS

/** Calls `put` with each number's color and place. */
function place(
  width: number,
  { rows, norms, limit, row }: Marks,
  put: (level: number, x: number, y: number) => void,
) {
  const length = rows.length / norms / 3
  const heights = Float32Array.from({ length }, (_, k) => MARGIN + ((k * GOLDEN) % 1) * (row - 2 * MARGIN))
  const scale = (width / 4 - GAP) / limit
  for (const side of [0, 1]) {
    const zero = ((2 * side + 1) * width) / 4
    for (let i = 0; i < norms; i++) {
      const start = (3 * i + 2 * side) * length
      for (let k = 0; k < length; k++) {
        const value = rows[start + k]
        if (!Number.isFinite(value)) continue
        put(levelOf(value), zero + Math.max(-limit, Math.min(limit, value)) * scale, i * row + heights[k])
      }
    }
  }
}

export const drawDots: DrawMarks = (context, width, marks, { above, below }) => {
  const radius = Math.min(2.1, marks.row / 8)
  const levels: Map<number, Path2D> = new Map()
  place(width, marks, (level, x, y) => {
    let path = levels.get(level)
    if (!path) levels.set(level, (path = new Path2D()))
    path.moveTo(x + radius, y)
    path.arc(x, y, radius, 0, 2 * Math.PI)
  })
  for (const [level, path] of [...levels].sort(([a], [b]) => Math.abs(a) - Math.abs(b))) {
    context.fillStyle = level < 0 ? below : above
    context.globalAlpha = opacityOf(level)
    context.fill(path)
  }
  context.globalAlpha = 1
}

/** What `drawSpecks` draws into, from frame to frame. */
let kept: { canvas: OffscreenCanvas; image: ImageData } | null = null

/**
 * Draws each number as pixels of one image. As paths, 25 norms of 768 numbers would take longer than a frame.
 */
export const drawSpecks: DrawMarks = (context, width, marks, { above, below }) => {
  const ratio = context.getTransform().a // pixels of the canvas for each pixel of the page
  const columns = Math.round(width * ratio)
  const lines = Math.round(marks.norms * marks.row * ratio)
  if (kept?.image.width !== columns || kept.image.height !== lines) {
    kept = { canvas: new OffscreenCanvas(columns, lines), image: new ImageData(columns, lines) }
  }
  const { canvas, image } = kept
  const pixels = new Uint32Array(image.data.buffer).fill(0)
  const palette = Uint32Array.from({ length: 2 * LEVELS + 1 }, (_, i) =>
    pixelOf(i < LEVELS ? below : above, opacityOf(i - LEVELS)),
  )
  const size = Math.max(1, Math.round(SPECK * ratio))
  place(width, marks, (level, x, y) => {
    const color = palette[level + LEVELS]
    const first = Math.round(y * ratio - size / 2) * columns + Math.round(x * ratio - size / 2)
    for (let line = first; line < first + size * columns; line += columns) {
      // Of specks on top of each other the strongest is seen: a pixel's highest byte is its opacity.
      for (let at = line; at < line + size; at++) if (pixels[at] < color) pixels[at] = color
    }
  })
  canvas.getContext('2d')?.putImageData(image, 0, 0)
  context.drawImage(canvas, 0, 0, width, marks.norms * marks.row)
}

/**
 * @param color as getComputedStyle writes it: rgb(240, 149, 61)
 * @returns a pixel of an ImageData
 */
function pixelOf(color: string, opacity: number): number {
  const [red, green, blue] = color.match(/\d+/g)?.map(Number) ?? []
  return (Math.round(255 * opacity) << 24) | (blue << 16) | (green << 8) | red
}
