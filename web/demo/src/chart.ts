// Exports a chart, or a figure of several charts with their captions, as an SVG or PNG file.
//
// SVG: computed styles become attributes, and colors become #rrggbb, so that any program can read the file.
// PNG: every shape is drawn on a canvas. The usual way, an <img> of the SVG, is not possible: the page's
// Content-Security-Policy forbids images from blob: and data: addresses.
//
// A chart may contain line, rect, circle, path and text (without positioned tspans) inside svg and g, with
// any transforms. It must have a width and a height. Other shapes, opacity, gradients, clips and images are
// not supported.

import { download } from './download.ts'
import { zoom } from './zoom.ts'

const SHAPES = 'line, rect, circle, path, text'
const PIXELS = 2 // of the PNG for each CSS pixel
const MARGIN = 16 // CSS pixels around the picture
/** The style properties that an SVG file needs, with their initial values, which are left out. */
const STROKE = { 'stroke-width': '1px', 'stroke-dasharray': 'none' }
const TEXT = {
  'font-family': '',
  'font-size': '',
  'font-style': 'normal',
  'font-weight': '400',
  'text-anchor': 'start',
  'paint-order': 'normal',
}

/**
 * Downloads a chart on the page as NAME.svg or NAME.png, as it looks now.
 *
 * @param chart an <svg>, or an element that contains some
 */
export async function exportChart(chart: Element, name: string, format: 'svg' | 'png') {
  const figure = figureOf(chart)
  download(`${name}.${format}`, format === 'svg' ? toSVG(figure) : await toPNG(figure))
}

/** A word of a caption. */
interface Word {
  text: string
  box: DOMRect
  style: CSSStyleDeclaration
}

interface Figure {
  svgs: SVGSVGElement[]
  words: Word[]
  /** The rectangle around all of them. */
  frame: { left: number; top: number; width: number; height: number }
}

/** Where something is, in pixels of the page. */
function boxOf(one: Element | Range): DOMRect {
  const { x, y, width, height } = one.getBoundingClientRect()
  const by = zoom()
  return new DOMRect(x / by, y / by, width / by, height / by)
}

function figureOf(chart: Element): Figure {
  const svgs = chart instanceof SVGSVGElement ? [chart] : [...chart.querySelectorAll('svg')]
  const words = [...chart.querySelectorAll('figcaption')].flatMap(wordsOf)
  const boxes = [...svgs.map(boxOf), ...words.map(({ box }) => box)]
  const left = Math.min(...boxes.map((box) => box.left)) - MARGIN
  const top = Math.min(...boxes.map((box) => box.top)) - MARGIN
  const width = Math.max(...boxes.map((box) => box.right)) + MARGIN - left
  const height = Math.max(...boxes.map((box) => box.bottom)) + MARGIN - top
  return { svgs, words, frame: { left, top, width, height } }
}

function wordsOf(caption: Element): Word[] {
  const walker = document.createTreeWalker(caption, NodeFilter.SHOW_TEXT)
  const words = []
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement) continue
    const style = getComputedStyle(node.parentElement)
    for (const { 0: text, index } of (node.textContent ?? '').matchAll(/\S+/g)) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + text.length)
      words.push({ text, box: boxOf(range), style })
    }
  }
  return words
}

function element(tag: string, attributes: Record<string, string | number>) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  return made
}

function toSVG({ svgs, words, frame }: Figure): Blob {
  const { left, top, width, height } = frame
  const picture = element('svg', { xmlns: 'http://www.w3.org/2000/svg', width, height })
  picture.append(element('rect', { width: '100%', height: '100%', fill: background().color }))
  for (const { text, box, style } of words) {
    const word = element('text', {
      x: box.left - left,
      y: (box.top + box.bottom) / 2 - top,
      'dominant-baseline': 'central',
      'font-family': style.fontFamily,
      'font-size': style.fontSize,
      'font-style': style.fontStyle,
      'font-weight': style.fontWeight,
      textLength: box.width, // also in another font
      lengthAdjust: 'spacingAndGlyphs',
      fill: asHex(style.color).color,
    })
    word.textContent = text
    picture.append(word)
  }
  for (const svg of svgs) {
    const box = boxOf(svg)
    const copy = copyOf(svg)
    const place = { x: box.left - left, y: box.top - top, width: box.width, height: box.height }
    for (const [name, value] of Object.entries(place)) copy.setAttribute(name, String(value))
    picture.append(copy)
  }
  return new Blob([new XMLSerializer().serializeToString(picture)], { type: 'image/svg+xml' })
}

/** A copy with its styles as attributes. */
function copyOf(svg: SVGSVGElement): SVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement
  const copies = copy.querySelectorAll('*')
  svg.querySelectorAll('*').forEach((element, i) => {
    const style = getComputedStyle(element)
    const target = copies[i]
    for (const name of ['class', 'style', 'role', 'tabindex']) target.removeAttribute(name)
    if (!element.matches(SHAPES)) return
    const attributes = {
      ...(style.stroke === 'none' ? {} : STROKE),
      ...(element.matches('text') ? TEXT : {}),
    }
    for (const [name, initial] of Object.entries(attributes)) {
      const value = style.getPropertyValue(name)
      if (value !== initial) target.setAttribute(name, value)
    }
    for (const name of ['fill', 'stroke'] as const) {
      const { color, alpha } = paint(style, name)
      target.setAttribute(name, color)
      if (color !== 'none' && alpha < 1) target.setAttribute(`${name}-opacity`, alpha.toFixed(3))
    }
  })
  for (const name of ['class', 'style']) copy.removeAttribute(name)
  return copy
}

function toPNG({ svgs, words, frame }: Figure): Promise<Blob> {
  const { left, top, width, height } = frame
  const canvas = document.createElement('canvas')
  canvas.width = Math.ceil(width * PIXELS)
  canvas.height = Math.ceil(height * PIXELS)
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  context.fillStyle = background().color
  context.fillRect(0, 0, canvas.width, canvas.height)
  const screen = new DOMMatrix([PIXELS, 0, 0, PIXELS, -left * PIXELS, -top * PIXELS])
  context.setTransform(screen)
  context.textBaseline = 'middle'
  for (const { text, box, style } of words) {
    context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`
    context.fillStyle = asHex(style.color).color
    context.fillText(text, box.left, (box.top + box.bottom) / 2)
  }
  for (const svg of svgs) {
    for (const shape of svg.querySelectorAll<SVGGraphicsElement>(SHAPES)) {
      const matrix = shape.getScreenCTM()
      if (!matrix || getComputedStyle(shape).visibility === 'hidden') continue
      context.setTransform(screen.scale(1 / zoom()).multiply(matrix))
      draw(context, shape)
    }
  }
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) =>
      blob ? resolve(blob) : reject(new Error('this chart is too large for a picture')),
    ),
  )
}

/** The canvas's textAlign for each value of SVG's text-anchor. */
const ALIGN: Readonly<Record<string, CanvasTextAlign>> = { start: 'left', middle: 'center', end: 'right' }

/** @param context in the shape's coordinates */
function draw(context: CanvasRenderingContext2D, shape: SVGGraphicsElement) {
  const style = getComputedStyle(shape)
  const fill = paint(style, 'fill')
  const stroke = paint(style, 'stroke')
  context.fillStyle = fill.color
  context.strokeStyle = stroke.color
  context.lineWidth = parseFloat(style.strokeWidth)
  context.setLineDash(
    style.strokeDasharray === 'none' ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat),
  )
  const paints = [
    { alpha: fill.alpha, text: 'fillText', shape: 'fill' },
    { alpha: stroke.alpha, text: 'strokeText', shape: 'stroke' },
  ] as const
  // A stroke painted first is a halo that keeps lines away from a text.
  const ordered = style.paintOrder.startsWith('stroke') ? paints.toReversed() : paints
  for (const { alpha, ...how } of ordered) {
    if (alpha === 0) continue
    context.globalAlpha = alpha
    if (shape instanceof SVGTextElement) {
      context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`
      context.textAlign = ALIGN[style.textAnchor] ?? 'left'
      context.textBaseline = 'alphabetic'
      context[how.text](shape.textContent.trim(), length(shape, 'x'), length(shape, 'y'))
    } else context[how.shape](outline(shape))
  }
}

function outline(shape: SVGGraphicsElement): Path2D {
  const at = (name: string) => length(shape, name)
  const path = new Path2D(shape.getAttribute('d') ?? '')
  switch (shape.tagName) {
    case 'line':
      path.moveTo(at('x1'), at('y1'))
      path.lineTo(at('x2'), at('y2'))
      break
    case 'rect':
      path.rect(at('x'), at('y'), at('width'), at('height'))
      break
    case 'circle':
      path.arc(at('cx'), at('cy'), at('r'), 0, 2 * Math.PI)
  }
  return path
}

/**
 * @param name of a length
 * @returns in user units; 0 if absent
 */
function length(shape: SVGGraphicsElement, name: string): number {
  const value: unknown = Reflect.get(shape, name)
  if (value instanceof SVGAnimatedLength) return value.baseVal.value
  // The x and y of a text are lists.
  if (value instanceof SVGAnimatedLengthList && value.baseVal.length) return value.baseVal.getItem(0).value
  return 0
}

/** `color` is #rrggbb or none; `alpha` goes from 0 to 1. */
type Paint = { color: string; alpha: number }

function paint(style: CSSStyleDeclaration, name: 'fill' | 'stroke'): Paint {
  const value = style.getPropertyValue(name)
  if (value === 'none') return { color: 'none', alpha: 0 }
  const { color, alpha } = asHex(value)
  return { color, alpha: alpha * Number(style.getPropertyValue(`${name}-opacity`)) }
}

const background = () => asHex(getComputedStyle(document.documentElement).backgroundColor)

let pixel: OffscreenCanvasRenderingContext2D | null = null

/** @param color any CSS color */
function asHex(color: string): Paint {
  pixel ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
  const context = pixel as OffscreenCanvasRenderingContext2D
  context.clearRect(0, 0, 1, 1)
  context.fillStyle = color
  context.fillRect(0, 0, 1, 1)
  const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data
  return {
    color: '#' + [red, green, blue].map((n) => n.toString(16).padStart(2, '0')).join(''),
    alpha: alpha / 255,
  }
}
