// Exports a chart, or a figure of several charts with their captions, as an SVG or PNG file.
//
// SVG: computed styles become attributes, and colors become #rrggbb, so that any program can read the file.
// PNG: every shape is drawn on a canvas. The usual way, an <img> of the SVG, is not possible: the page's
// Content-Security-Policy forbids images from blob: and data: addresses.
//
// A chart may contain line, rect, circle, ellipse, path, polyline, polygon and text (without positioned
// tspans) inside svg and g, with any transforms. It must have a width and a height. Gradients, clips, images
// and foreignObject are not supported.

import { download } from './download.js'

const SHAPES = 'line, rect, circle, ellipse, path, polyline, polygon, text'
const PIXELS = 2 // of the PNG for each CSS pixel
const MARGIN = 16 // CSS pixels around the picture
/** The style properties that an SVG file needs, with their initial values, which are left out. */
const STROKE = {
  'stroke-width': '1px',
  'stroke-dasharray': 'none',
  'stroke-linecap': 'butt',
  'stroke-linejoin': 'miter',
}
const TEXT = {
  'font-family': '',
  'font-size': '',
  'font-style': 'normal',
  'font-weight': '400',
  'text-anchor': 'start',
  'dominant-baseline': 'auto',
  'paint-order': 'normal',
}

/**
 * Downloads a chart on the page as NAME.svg or NAME.png, as it looks now.
 *
 * @param {Element} chart an <svg>, or an element that contains some
 * @param {string} name
 * @param {'svg' | 'png'} format
 */
export async function exportChart(chart, name, format) {
  const figure = figureOf(chart)
  download(`${name}.${format}`, format === 'svg' ? toSVG(figure) : await toPNG(figure))
}

/**
 * @typedef {object} Word of a caption
 * @property {string} text
 * @property {DOMRect} box
 * @property {CSSStyleDeclaration} style
 *
 * @typedef {object} Figure
 * @property {SVGSVGElement[]} svgs
 * @property {Word[]} words
 * @property {{ left: number, top: number, width: number, height: number }} frame around all of them
 */

/** @param {Element} chart @returns {Figure} */
function figureOf(chart) {
  const svgs = chart instanceof SVGSVGElement ? [chart] : [...chart.querySelectorAll('svg')]
  const words = [...chart.querySelectorAll('figcaption')].flatMap(wordsOf)
  const boxes = [...svgs.map((svg) => svg.getBoundingClientRect()), ...words.map(({ box }) => box)]
  const left = Math.min(...boxes.map((box) => box.left)) - MARGIN
  const top = Math.min(...boxes.map((box) => box.top)) - MARGIN
  const width = Math.max(...boxes.map((box) => box.right)) + MARGIN - left
  const height = Math.max(...boxes.map((box) => box.bottom)) + MARGIN - top
  return { svgs, words, frame: { left, top, width, height } }
}

/** @param {Element} caption @returns {Word[]} */
function wordsOf(caption) {
  const walker = document.createTreeWalker(caption, NodeFilter.SHOW_TEXT)
  const words = []
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const style = getComputedStyle(/** @type {Element} */ (node.parentElement))
    for (const { 0: text, index } of (node.textContent ?? '').matchAll(/\S+/g)) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + text.length)
      words.push({ text, box: range.getBoundingClientRect(), style })
    }
  }
  return words
}

/** @param {string} tag @param {Record<string, string | number>} attributes */
function element(tag, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  return made
}

/** @param {Figure} figure @returns {Blob} */
function toSVG({ svgs, words, frame }) {
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
    const box = svg.getBoundingClientRect()
    const copy = copyOf(svg)
    const place = { x: box.left - left, y: box.top - top, width: box.width, height: box.height }
    for (const [name, value] of Object.entries(place)) copy.setAttribute(name, String(value))
    picture.append(copy)
  }
  return new Blob([new XMLSerializer().serializeToString(picture)], { type: 'image/svg+xml' })
}

/** @param {SVGSVGElement} svg @returns {SVGElement} with its styles as attributes */
function copyOf(svg) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true))
  const copies = copy.querySelectorAll('*')
  svg.querySelectorAll('*').forEach((element, i) => {
    const style = getComputedStyle(element)
    const target = copies[i]
    for (const name of ['class', 'style', 'role', 'tabindex']) target.removeAttribute(name)
    if (style.opacity !== '1') target.setAttribute('opacity', style.opacity)
    if (!element.matches(SHAPES)) return
    const attributes = {
      ...(style.stroke === 'none' ? {} : STROKE),
      ...(element.matches('text') ? TEXT : {}),
    }
    for (const [name, initial] of Object.entries(attributes)) {
      const value = style.getPropertyValue(name)
      if (value !== initial) target.setAttribute(name, value)
    }
    for (const name of /** @type {const} */ (['fill', 'stroke'])) {
      const { color, alpha } = paint(style, name)
      target.setAttribute(name, color)
      if (color !== 'none' && alpha < 1) target.setAttribute(`${name}-opacity`, alpha.toFixed(3))
    }
  })
  for (const name of ['class', 'style']) copy.removeAttribute(name)
  return copy
}

/** @param {Figure} figure @returns {Promise<Blob>} */
function toPNG({ svgs, words, frame }) {
  const { left, top, width, height } = frame
  const canvas = document.createElement('canvas')
  canvas.width = Math.ceil(width * PIXELS)
  canvas.height = Math.ceil(height * PIXELS)
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
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
    for (const shape of /** @type {NodeListOf<SVGGraphicsElement>} */ (svg.querySelectorAll(SHAPES))) {
      const matrix = shape.getScreenCTM()
      if (!matrix || getComputedStyle(shape).visibility === 'hidden') continue
      context.setTransform(screen.multiply(matrix))
      draw(context, shape, svg)
    }
  }
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) =>
      blob ? resolve(blob) : reject(new Error('this chart is too large for a picture')),
    ),
  )
}

/** SVG's names -> the canvas's. @type {Readonly<Record<string, CanvasTextAlign>>} */
const ALIGN = { start: 'left', middle: 'center', end: 'right' }
/** @type {Readonly<Record<string, CanvasTextBaseline>>} */
const BASELINE = { middle: 'middle', central: 'middle', hanging: 'hanging' }

/**
 * @param {CanvasRenderingContext2D} context in the shape's coordinates
 * @param {SVGGraphicsElement} shape
 * @param {SVGSVGElement} svg
 */
function draw(context, shape, svg) {
  const style = getComputedStyle(shape)
  let opacity = 1
  for (let /** @type {Element | null} */ e = shape; e && e !== svg.parentElement; e = e.parentElement) {
    opacity *= Number(getComputedStyle(e).opacity)
  }
  const fill = paint(style, 'fill')
  const stroke = paint(style, 'stroke')
  context.fillStyle = fill.color
  context.strokeStyle = stroke.color
  context.lineWidth = parseFloat(style.strokeWidth)
  context.lineCap = /** @type {CanvasLineCap} */ (style.strokeLinecap)
  context.lineJoin = /** @type {CanvasLineJoin} */ (style.strokeLinejoin)
  context.setLineDash(
    style.strokeDasharray === 'none' ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat),
  )
  const paints = /** @type {const} */ ([
    { alpha: fill.alpha, text: 'fillText', shape: 'fill' },
    { alpha: stroke.alpha, text: 'strokeText', shape: 'stroke' },
  ])
  // A stroke painted first is a halo that keeps lines away from a text.
  const ordered = style.paintOrder.startsWith('stroke') ? paints.toReversed() : paints
  for (const { alpha, ...how } of ordered) {
    context.globalAlpha = alpha * opacity
    if (context.globalAlpha === 0) continue
    if (shape instanceof SVGTextElement) {
      context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`
      context.textAlign = ALIGN[style.textAnchor] ?? 'left'
      context.textBaseline = BASELINE[style.dominantBaseline] ?? 'alphabetic'
      context[how.text](shape.textContent.trim(), length(shape, 'x'), length(shape, 'y'))
    } else context[how.shape](outline(shape))
  }
}

/** @param {SVGGraphicsElement} shape @returns {Path2D} */
function outline(shape) {
  const at = (/** @type {string} */ name) => length(shape, name)
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
      break
    case 'ellipse':
      path.ellipse(at('cx'), at('cy'), at('rx'), at('ry'), 0, 0, 2 * Math.PI)
      break
    case 'polyline':
    case 'polygon':
      for (const { x, y } of /** @type {SVGPolylineElement} */ (shape).points) path.lineTo(x, y)
      if (shape.tagName === 'polygon') path.closePath()
  }
  return path
}

/**
 * @param {SVGGraphicsElement} shape
 * @param {string} name of a length
 * @returns {number} in user units; 0 if absent
 */
function length(shape, name) {
  const value = /** @type {unknown} */ (shape[/** @type {keyof SVGGraphicsElement} */ (name)])
  if (value instanceof SVGAnimatedLength) return value.baseVal.value
  // The x and y of a text are lists.
  if (value instanceof SVGAnimatedLengthList && value.baseVal.length) return value.baseVal.getItem(0).value
  return 0
}

/** @typedef {{ color: string, alpha: number }} Paint #rrggbb or none; alpha from 0 to 1 */

/** @param {CSSStyleDeclaration} style @param {'fill' | 'stroke'} name @returns {Paint} */
function paint(style, name) {
  const value = style.getPropertyValue(name)
  if (value === 'none') return { color: 'none', alpha: 0 }
  const { color, alpha } = asHex(value)
  return { color, alpha: alpha * Number(style.getPropertyValue(`${name}-opacity`)) }
}

const background = () => asHex(getComputedStyle(document.documentElement).backgroundColor)

/** @type {OffscreenCanvasRenderingContext2D | null} */
let pixel = null

/** @param {string} color any CSS color @returns {Paint} */
function asHex(color) {
  pixel ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (pixel)
  context.clearRect(0, 0, 1, 1)
  context.fillStyle = color
  context.fillRect(0, 0, 1, 1)
  const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data
  return {
    color: '#' + [red, green, blue].map((n) => n.toString(16).padStart(2, '0')).join(''),
    alpha: alpha / 255,
  }
}
