// What a reader sees before the page starts: the opening, computed while the page is built. It stands in index.html.
// A browser without JavaScript goes on to text.html: the opening and the text of all sections.

import { readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { build, minify } from 'vite'
import { fonts } from './fonts.js'
import { formulas } from './formulas.js'
import { recordings } from './recordings.js'
import { nameSite } from './site.js'

const root = fileURLToPath(new URL('.', import.meta.url))
const folder = fileURLToPath(new URL('../../build/still/', import.meta.url))

/** @returns HTML of the opening, and of the opening and the sections after it */
async function make(define) {
  await build({
    configFile: false,
    root,
    logLevel: 'error', // the page's own build warns of the same
    plugins: [svelte(), formulas, fonts, recordings],
    define,
    publicDir: false,
    build: {
      ssr: 'src/still.ts',
      outDir: folder,
      emptyOutDir: true,
      rolldownOptions: { external: ['gpt-layers'], checks: { pluginTimings: false } },
    },
  })
  const { stillPage } = await import(pathToFileURL(`${folder}still.js`).href)
  const { opening, text } = await stillPage()
  return [opening, opening + text].map((sections) => {
    const plain = sections.replace(/<!--.*?-->/g, '') // a page that took the HTML over would need these
    return `<header class="topbar"></header><main class="still">${plain}</main>`
  })
}

/** What stands in index.html, and in text.html. */
let made

/** The address of early.js, once all files have their names. */
let early = () => ''

/** text.html, once all files have their names. */
let textPage = ''

/** The page's constants. */
let constants

/** The text face arrives with the first paint, and the kernels beside the script that asks for them. */
const PRELOADED = { font: /source-serif-4-latin-400-normal/, fetch: /\/page-[^/]*\.wasm$/ }

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
  configResolved(config) {
    constants = config.define
  },
  async buildStart() {
    if (this.meta.watchMode) return // ./build.sh demo --watch starts without the still page
    made = await make(constants)
    const { code } = await minify('early.js', readFileSync(`${root}src/early.js`, 'utf8'))
    const script = this.emitFile({ type: 'asset', name: 'early.js', source: code })
    early = () => `./${this.getFileName(script)}`
  },
  transformIndexHtml: {
    order: 'post',
    handler(page, { bundle }) {
      if (!made) return nameSite(page)
      const [html, text] = made
      const fill = (sections) => nameSite(page).replace('<div id="app">', () => `<div id="app">${sections}`)
      textPage = fill(text)
      const script = { tag: 'script', attrs: { src: early() }, injectTo: 'head' }
      return { html: fill(html), tags: [script, TO_TEXT, ...preloads(Object.keys(bundle ?? {}))] }
    },
  },
  generateBundle: {
    order: 'post',
    handler() {
      this.emitFile({ type: 'asset', fileName: 'text.html', source: textPage })
    },
  },
}
