// What a reader sees before the page starts, or in a preview of a link: the opening, computed while the page is
// built. It stands in index.html, and og.png is its picture. A browser without JavaScript goes on to text.html: the
// opening and the text of all sections.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { initWasm, Resvg } from '@resvg/resvg-wasm'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { build, minify } from 'vite'
import { fonts, textFace } from './fonts.js'
import { formulas } from './formulas.js'
import { recordings } from './recordings.js'
import { nameSite } from './site.js'

const root = fileURLToPath(new URL('.', import.meta.url))
const folder = fileURLToPath(new URL('../../build/still/', import.meta.url))

const WIDTH = 1200 // of the picture
const ICON = 180

/**
 * @param {import('vite').UserConfig['define']} define the page's constants
 * @returns {Promise<{ opening: string, text: string, preview: string }>} the opening and the sections after it as
 *   HTML, the opening's picture as SVG
 */
async function render(define) {
  await build({
    configFile: false,
    root,
    logLevel: 'error', // the page's own build warns of the same
    plugins: [svelte(), formulas, fonts, recordings],
    define,
    build: {
      ssr: 'src/still.ts',
      outDir: folder,
      emptyOutDir: true,
      rolldownOptions: { external: ['gpt-layers'], checks: { pluginTimings: false } },
    },
  })
  const still = await import(pathToFileURL(`${folder}still.js`).href)
  await still.start()
  return { opening: still.opening(), preview: still.preview(), text: await still.text() }
}

/** The light theme's colors. @type {Record<string, string>} */
const COLORS = {}
for (const [, name, color] of readFileSync(`${root}src/base.css`, 'utf8').matchAll(
  /--(\w+): light-dark\((#\w+)/g,
))
  COLORS[name] = color
/** The figure's styles in plain CSS: what makes the PNG knows no variables and no light-dark(). */
const STYLE = `
  text { font: 14px 'Source Serif 4'; fill: ${COLORS.quiet} }
  .page, .under { fill: ${COLORS.page} }
  .title { font-size: 50px; fill: ${COLORS.text} }
  .switch { font-size: 28px; fill: ${COLORS.text} }
  .words { font-size: 22px; fill: ${COLORS.text} }
  .label { font-size: 16px; fill: ${COLORS.text} }
  .stat { font-size: 16px }
  .tick { font-size: 16px; text-anchor: middle }
  .axis, .base { stroke: ${COLORS.line} }
  .axis { stroke-opacity: 0.55 }
  .ghost { fill: none; stroke: ${COLORS.edge}; stroke-opacity: 0.6 }
  .deviation { stroke: ${COLORS.text}; stroke-opacity: 0.3; stroke-width: 6 }
  .mean { stroke: ${COLORS.text}; stroke-width: 2 }
  .surface { fill: none }
  .dot { fill: ${COLORS.above}; stroke: ${COLORS.above}; stroke-width: 1.5 }
  .dot.negative { fill: ${COLORS.below}; stroke: ${COLORS.below} }
  .track { fill: ${COLORS.with}; stroke: ${COLORS.with}; stroke-width: 3 }
  .knob { fill: ${COLORS.page} }
  .off .track { fill: none; stroke: ${COLORS.without} }
  .off .knob, .state, .noise { fill: ${COLORS.without} }
  .on .state { fill: ${COLORS.with} }
`

/** @param {string} svg @param {number} width @returns {Promise<Uint8Array>} */
async function png(svg, width) {
  const options = { fitTo: { mode: 'width', value: width }, font: { fontBuffers: [await textFace()] } }
  return new Resvg(svg, options).render().asPng()
}

/**
 * Once for a build. html: of index.html; text: of text.html.
 *
 * @type {Promise<{ html: string, text: string, picture: Uint8Array, icon: Uint8Array }> | undefined}
 */
let made
/** @param {import('vite').UserConfig['define']} define */
async function make(define) {
  const { opening, text, preview } = await render(define)
  const [html, whole] = [opening, opening + text].map((sections) => {
    const plain = sections.replace(/<!--.*?-->/g, '') // a page that took the HTML over would need these
    return `<header class="topbar"></header><main class="still">${plain}</main>`
  })
  const picture = preview.replace('<rect', `<style>${STYLE}</style><rect`)
  await initWasm(readFileSync(createRequire(import.meta.url).resolve('@resvg/resvg-wasm/index_bg.wasm')))
  const mark = readFileSync(`${root}public/icon.svg`, 'utf8')
  // A phone's icon has no transparent ground.
  const icon = mark.replace('<path', `<path fill="${COLORS.page}" d="M0 0h32v32H0z"/><path`)
  return { html, text: whole, picture: await png(picture, WIDTH), icon: await png(icon, ICON) }
}

/** What index.html is given once all files have their names. @type {() => { tag: string }[]} */
let tags = () => []

/** text.html, once all files have their names. */
let textPage = ''

/** The page's constants. @type {import('vite').UserConfig['define']} */
let constants

/** The text face arrives with the first paint, and the kernels beside the script that asks for them. */
const PRELOADED = { font: /source-serif-4-latin-400-normal/, fetch: /\/page-[^/]*\.wasm$/ }

/** @param {string[]} files that were built */
const preloads = (files) =>
  Object.entries(PRELOADED).map(([as, name]) => ({
    tag: 'link',
    attrs: { rel: 'preload', as, href: `./${files.find((file) => name.test(file))}`, crossorigin: true },
    injectTo: 'head-prepend',
  }))

const TO_TEXT = {
  tag: 'noscript',
  children: [{ tag: 'meta', attrs: { 'http-equiv': 'refresh', content: '0; url=text.html' } }],
  injectTo: 'head',
}

/** The plugin for Vite. */
export const still = {
  name: 'still',
  /** @param {import('vite').ResolvedConfig} config */
  configResolved(config) {
    constants = config.define
  },
  async buildStart() {
    if (this.meta.watchMode) return // ./build.sh demo --watch starts without the still page
    made ??= make(constants)
    const { picture, icon } = await made
    this.emitFile({ type: 'asset', fileName: 'og.png', source: picture })
    this.emitFile({ type: 'asset', fileName: 'apple-touch-icon.png', source: icon })
    const { code } = await minify('early.js', readFileSync(`${root}src/early.js`, 'utf8'))
    const script = this.emitFile({ type: 'asset', name: 'early.js', source: code })
    tags = () => [
      { tag: 'link', attrs: { rel: 'apple-touch-icon', href: './apple-touch-icon.png' }, injectTo: 'head' },
      { tag: 'script', attrs: { src: `./${this.getFileName(script)}` }, injectTo: 'head' },
    ]
  },
  transformIndexHtml: {
    order: 'post',
    /** @param {string} page @param {{ bundle?: Record<string, unknown> }} context */
    async handler(page, { bundle }) {
      if (made === undefined) return nameSite(page)
      const { html, text } = await made
      const fill = (/** @type {string} */ sections) =>
        nameSite(page).replace('<div id="app">', () => `<div id="app">${sections}`)
      textPage = fill(text)
      return { html: fill(html), tags: [...tags(), TO_TEXT, ...preloads(Object.keys(bundle ?? {}))] }
    },
  },
  generateBundle: {
    order: 'post',
    handler() {
      this.emitFile({ type: 'asset', fileName: 'text.html', source: textPage })
    },
  },
}
