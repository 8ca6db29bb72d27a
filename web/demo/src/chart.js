// Charts as files. An SVG takes its styles along as attributes, and colours as any program reads them. A PNG is drawn
// mark by mark: the page's Content-Security-Policy lets no image come from a blob: or data: address, which rules out
// the usual way by an <img>.
//
// A chart to be exported is made of line, rect, circle, ellipse, path, polyline, polygon and text (without positioned
// tspans) in svg and g, with any transforms, and has its width and height; no gradients, clips, images or
// foreignObject.

import { download } from './download.js'

const SHAPES = 'line, rect, circle, ellipse, path, polyline, polygon, text'
const PIXELS = 2 // of the PNG to one of the page
/** What an SVG needs of a mark's style, and what it is where nothing is said. */
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
 * Saves a chart that is on the page as NAME.svg or NAME.png, as it looks now.
 *
 * @param {SVGSVGElement} svg
 * @param {string} name
 * @param {'svg' | 'png'} format
 */
export async function exportChart(svg, name, format) {
  download(`${name}.${format}`, format === 'svg' ? toSVG(svg) : await toPNG(svg))
}

/** @param {SVGSVGElement} svg @returns {Blob} */
export function toSVG(svg) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true))
  const { width, height } = svg.getBoundingClientRect()
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  copy.setAttribute('width', String(width))
  copy.setAttribute('height', String(height))
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
    for (const name of ['fill', 'stroke']) {
      const { colour, alpha } = paint(style, name)
      target.setAttribute(name, colour)
      if (alpha < 1) target.setAttribute(`${name}-opacity`, alpha.toFixed(3))
    }
  })
  const page = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
  const ground = { width: '100%', height: '100%', fill: background().colour }
  for (const [name, value] of Object.entries(ground)) page.setAttribute(name, value)
  copy.prepend(page)
  for (const name of ['class', 'style']) copy.removeAttribute(name)
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' })
}

/** @param {SVGSVGElement} svg @returns {Promise<Blob>} */
export function toPNG(svg) {
  const { width, height, left, top } = svg.getBoundingClientRect()
  const canvas = document.createElement('canvas')
  canvas.width = Math.ceil(width * PIXELS)
  canvas.height = Math.ceil(height * PIXELS)
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
  context.fillStyle = background().colour
  context.fillRect(0, 0, canvas.width, canvas.height)
  for (const shape of /** @type {NodeListOf<SVGGraphicsElement>} */ (svg.querySelectorAll(SHAPES))) {
    const matrix = shape.getScreenCTM()
    if (!matrix || getComputedStyle(shape).visibility === 'hidden') continue
    context.setTransform(
      new DOMMatrix([PIXELS, 0, 0, PIXELS, -left * PIXELS, -top * PIXELS]).multiply(matrix),
    )
    draw(context, shape, svg)
  }
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) =>
      blob ? resolve(blob) : reject(new Error('this chart is too large for a picture')),
    ),
  )
}

/**
 * @param {CanvasRenderingContext2D} context with the mark's own coordinates
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
  context.fillStyle = fill.colour
  context.strokeStyle = stroke.colour
  context.lineWidth = parseFloat(style.strokeWidth)
  context.lineCap = /** @type {CanvasLineCap} */ (style.strokeLinecap)
  context.lineJoin = /** @type {CanvasLineJoin} */ (style.strokeLinejoin)
  context.setLineDash(
    style.strokeDasharray === 'none' ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat),
  )
  const paints = [
    { alpha: fill.colour === 'none' ? 0 : fill.alpha, text: 'fillText', shape: 'fill' },
    { alpha: stroke.colour === 'none' ? 0 : stroke.alpha, text: 'strokeText', shape: 'stroke' },
  ]
  if (style.paintOrder.startsWith('stroke')) paints.reverse() // what keeps lines away from a text lies beneath it
  for (const { alpha, ...how } of paints) {
    context.globalAlpha = alpha * opacity
    if (context.globalAlpha === 0) continue
    if (shape instanceof SVGTextElement) {
      context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`
      context.textAlign = { start: 'left', middle: 'center', end: 'right' }[style.textAnchor] ?? 'left'
      context.textBaseline =
        { middle: 'middle', central: 'middle', hanging: 'hanging' }[style.dominantBaseline] ?? 'alphabetic'
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

/** @param {SVGGraphicsElement} shape @param {string} name of a length @returns {number} in user units, 0 if not given */
function length(shape, name) {
  const animated = /** @type {any} */ (shape)[name]
  // the x and y of a text are lists
  return animated?.baseVal?.value ?? animated?.baseVal?.[0]?.value ?? 0
}

/** @param {CSSStyleDeclaration} style @param {string} name fill or stroke @returns {{ colour: string, alpha: number }} */
function paint(style, name) {
  const value = style.getPropertyValue(name)
  if (value === 'none') return { colour: 'none', alpha: 1 }
  const { colour, alpha } = asHex(value)
  return { colour, alpha: alpha * Number(style.getPropertyValue(`${name}-opacity`)) }
}

const background = () => asHex(getComputedStyle(document.documentElement).backgroundColor)

/** @type {CanvasRenderingContext2D | null} */
let pixel = null

/** @param {string} colour of any kind that CSS knows @returns {{ colour: string, alpha: number }} #rrggbb and 0 to 1 */
function asHex(colour) {
  pixel ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
  const context = /** @type {any} */ (pixel)
  context.clearRect(0, 0, 1, 1)
  context.fillStyle = colour
  context.fillRect(0, 0, 1, 1)
  const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data
  return {
    colour: '#' + [red, green, blue].map((n) => n.toString(16).padStart(2, '0')).join(''),
    alpha: alpha / 255,
  }
}
