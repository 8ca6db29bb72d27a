// What a reader sees before the page starts, without JavaScript, or in a preview of a link: the opening,
// computed while the page is built. It stands in index.html, and og.png is its picture.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { initWasm, Resvg } from '@resvg/resvg-wasm'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { build } from 'vite'
import { fonts, textFace } from './fonts.js'
import { formulas } from './formulas.js'
import { recordings } from './recordings.js'
import { nameSite } from './site.js'

const root = fileURLToPath(new URL('.', import.meta.url))
const folder = fileURLToPath(new URL('../../build/still/', import.meta.url))

/** Widths of the opening's figure in a window of at least 1280 pixels, and in one of 360. */
const WIDE = 1200
const NARROW = 328

const PICTURE = { width: 1200, height: 630, margin: 40 }
const ICON = 180

/** @param {number[]} widths of the figure @returns {Promise<string[]>} the opening's HTML for each */
async function render(widths) {
  await build({
    configFile: false,
    root,
    logLevel: 'error', // the page's own build warns of the same
    plugins: [svelte(), formulas, fonts, recordings],
    build: {
      ssr: 'src/still.ts',
      outDir: folder,
      emptyOutDir: true,
      rolldownOptions: { external: ['gpt-layers'], checks: { pluginTimings: false } },
    },
  })
  const { opening } = await import(pathToFileURL(`${folder}still.js`).href)
  return Promise.all(widths.map(opening))
}

/** @param {RegExp} pattern @param {string} text @returns {string} the first group, or the whole match */
function find(pattern, text) {
  const match = pattern.exec(text)
  if (!match) throw new Error(`the opening has no ${pattern}`)
  return match[1] ?? match[0]
}
const figureOf = (/** @type {string} */ html) => find(/<svg[^]*?<\/svg>/, html)
const STRENGTH = /style="--strength: ?([\d.]+);?"/g
const round = (/** @type {string} */ strength) => Number(strength).toFixed(2)

/**
 * A figure that cannot be touched yet, as wide as its place and as tall as the live one. The policy forbids
 * style attributes, so the strengths of the colors stand in still.css.
 *
 * @param {string} html the opening's
 * @param {number} width
 * @param {string} name its class
 */
const untouchable = (html, width, name) =>
  figureOf(html)
    .replace(/<svg([^>]*?) width="\d+" height="([\d.]+)"/, (_, before, height) => {
      return `<svg${before} class="${name}" width="100%" height="${height}" viewBox="0 0 ${width} ${height}"`
    })
    .replace(/ role="group"/, ' role="img"')
    .replace(/<g class="(handle[^"]*)"[^>]*>/g, '<g class="$1">')
    .replace(STRENGTH, (_, strength) => `data-strength="${round(strength)}"`)
    .replace(/="[^"]*"/g, (value) =>
      value.replace(/\d+\.\d{3,}/g, (number) => String(Number(Number(number).toFixed(2)))),
    )

/** @param {string} html */
function css(html) {
  const strengths = new Set([...html.matchAll(/data-strength="([\d.]+)"/g)].map(([, strength]) => strength))
  const rules = [...strengths].map((strength) => `[data-strength='${strength}'] { --strength: ${strength}; }`)
  return `/* Made by web/demo/still.js. */
${rules.join('\n')}
.still .narrow { display: none; }
.elsewhere .still { visibility: hidden; }
@media (scripting: enabled) and (prefers-reduced-motion: no-preference) {
  .still :is(.threads, .follows :is(circle, .value, .leader, .mean, .deviation, .stat)) { visibility: hidden; }
}
@media (max-width: 40rem) {
  .still .wide { display: none; }
  .still .narrow { display: block; }
}
noscript .note { display: block; max-width: 1200px; margin: 0 auto 24px; padding: 0 var(--margin); }
@media (scripting: none) {
  .still button { visibility: hidden; }
}
`
}

/** The light theme's colors. @type {Record<string, string>} */
const COLORS = {}
for (const [, name, color] of readFileSync(`${root}src/base.css`, 'utf8').matchAll(
  /--(\w+): light-dark\((#\w+)/g,
))
  COLORS[name] = color
/** @param {string} from a color @param {string} to a color @param {number} share of `to` */
const mix = (from, to, share) => {
  const parts = (/** @type {string} */ color) =>
    (color.match(/\w\w/g) ?? []).map((part) => parseInt(part, 16))
  const other = parts(to)
  const mixed = parts(from).map((part, i) => Math.round(part + (other[i] - part) * share))
  return `#${mixed.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

/** @param {string} text @param {number} most characters of a line */
function wrap(text, most) {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trim()
    if (line.length > most) lines.push(word)
    else lines[lines.length - 1] = line
  }
  return lines
}

/** The figure's styles in plain CSS: what makes the PNG knows no variables and no light-dark(). */
const STYLE = `
  text { font: 13px 'Source Serif 4'; fill: ${COLORS.quiet} }
  .title { font-size: 54px; fill: ${COLORS.text} }
  .words { font-size: 23px; fill: ${COLORS.text} }
  .label { font-size: 14px; fill: ${COLORS.text} }
  .number { text-anchor: end; fill: ${COLORS.text} }
  .value, .tick { text-anchor: middle }
  .number { font-size: 15px }
  .axis, .base { stroke: ${COLORS.line} }
  .axis { stroke-opacity: 0.55 }
  .leader { stroke: ${COLORS.edge}; stroke-dasharray: 1 3 }
  .zero { stroke: ${COLORS.edge}; stroke-dasharray: 2 4 }
  .thread { stroke: ${COLORS.quiet}; stroke-opacity: 0.35 }
  .deviation { stroke: ${COLORS.text}; stroke-opacity: 0.3; stroke-width: 6 }
  .mean { stroke: ${COLORS.text}; stroke-width: 2 }
  .surface { fill: none }
  .handle circle { stroke: ${COLORS.accent} }
`

/** @param {string} html the opening's @returns {Promise<Uint8Array>} PNG */
async function picture(html) {
  const { width, height, margin } = PICTURE
  const title = find(/<h1[^>]*>([^<]*)</, html)
  const words = find(/<div class="words[^]*?<\/p>/, html)
    .replace(/<[^>]*>/g, '')
    .replace(/\s+/g, ' ')
    .replace('Drag a dot.', '')
    .trim()
  const figure = figureOf(html)
    .replace(/<!--[^]*?-->/g, '')
    .replace(/<circle[^>]*>/g, (dot) => {
      const color = dot.includes('negative') ? COLORS.below : COLORS.above
      const fill = mix(COLORS.page, color, Number(find(/--strength: ?([\d.]+)/, dot)) * 0.85)
      const stroke = mix(COLORS.text, color, 0.7)
      return dot.replace(/style="[^"]*"/, `fill="${fill}" stroke="${stroke}" stroke-width="1.5"`)
    })
    .replace('<svg', `<svg x="${margin}" y="176"`)
  const lines = wrap(words, 100).map(
    (line, i) => `<text class="words" x="${margin}" y="${138 + 34 * i}">${line}</text>`,
  )
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <style>${STYLE}</style>
    <rect width="100%" height="100%" fill="${COLORS.page}"/>
    <text class="title" x="${margin}" y="86">${title}</text>
    ${lines.join('')}
    ${figure}
  </svg>`
  return png(svg, width)
}

/** @param {string} svg @param {number} width @returns {Promise<Uint8Array>} */
async function png(svg, width) {
  const options = { fitTo: { mode: 'width', value: width }, font: { fontBuffers: [await textFace()] } }
  return new Resvg(svg, options).render().asPng()
}

/** Once for a build. @type {Promise<{ html: string, picture: Uint8Array, icon: Uint8Array }> | undefined} */
let made
async function make() {
  const [wide, narrow, own] = await render([WIDE, NARROW, PICTURE.width - 2 * PICTURE.margin])
  const figures = untouchable(wide, WIDE, 'wide') + untouchable(narrow, NARROW, 'narrow')
  const opening = wide.replace(figureOf(wide), () => figures).replace(/<!--[^]*?-->/g, '')
  const html = `<header class="topbar"></header><main class="still">${opening}</main>`
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}still.css`, css(html))
  await initWasm(readFileSync(createRequire(import.meta.url).resolve('@resvg/resvg-wasm/index_bg.wasm')))
  const mark = readFileSync(`${root}public/icon.svg`, 'utf8')
  // A phone's icon has no transparent ground.
  const icon = mark.replace('<path', `<path fill="${COLORS.page}" d="M0 0h32v32H0z"/><path`)
  return { html, picture: await picture(own), icon: await png(icon, ICON) }
}

/** What index.html is given once all files have their names. @type {() => { tag: string }[]} */
let tags = () => []

/** The text face arrives with the first paint. @param {string} font its file */
const preload = (font) => ({
  tag: 'link',
  attrs: { rel: 'preload', as: 'font', type: 'font/woff2', href: `./${font}`, crossorigin: true },
  injectTo: 'head-prepend',
})

/** The plugin for Vite. */
export const still = {
  name: 'still',
  async buildStart() {
    if (this.meta.watchMode) return // ./build.sh demo --watch starts without the still page
    made ??= make()
    const { picture, icon } = await made
    this.emitFile({ type: 'asset', fileName: 'og.png', source: picture })
    this.emitFile({ type: 'asset', fileName: 'apple-touch-icon.png', source: icon })
    const early = { type: 'asset', name: 'early.js', source: readFileSync(`${root}src/early.js`) }
    const script = this.emitFile(early)
    tags = () => [
      { tag: 'link', attrs: { rel: 'apple-touch-icon', href: './apple-touch-icon.png' }, injectTo: 'head' },
      { tag: 'script', attrs: { src: `./${this.getFileName(script)}` }, injectTo: 'head' },
    ]
  },
  resolveId: { filter: { id: /^still\.css$/ }, handler: () => `${folder}still.css` },
  transformIndexHtml: {
    order: 'post',
    /** @param {string} page @param {{ bundle?: Record<string, unknown> }} context */
    async handler(page, { bundle }) {
      if (made === undefined) return nameSite(page)
      const { html } = await made
      const filled = nameSite(page).replace('<div id="app">', () => `<div id="app">${html}`)
      const font = Object.keys(bundle ?? {}).find((name) => /source-serif-4-latin-400-normal/.test(name))
      return { html: filled, tags: [...tags(), ...(font ? [preload(font)] : [])] }
    },
  },
}
