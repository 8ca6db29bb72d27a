// How much JavaScript an app downloads that uses a part of the package: minified, gzipped, without the
// WebAssembly. `./build.sh consumers sizes` prints it.

/** @import { Place } from './place.js' */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pathOf } from './place.js'

/** The apps that are measured. */
const APPS = {
  everything: "import * as gpt from 'gpt-layers'\ngpt.load().then(() => console.log(gpt))\n",
  layerNorm:
    "import { LayerNorm, load } from 'gpt-layers'\nload().then(() => console.log(new LayerNorm(5)))\n",
  nothing: "import 'gpt-layers'\nconsole.log('app')\n",
}

/** @param {Place} place */
function vite(place) {
  const config = {
    logLevel: 'error',
    build: {
      modulePreload: false,
      rollupOptions: { input: 'app.js', output: { entryFileNames: 'app.js', chunkFileNames: '[name].js' } },
    },
  }
  place.write('vite.config.js', `export default ${JSON.stringify(config)}`)
  place.run(`${process.execPath} ${pathOf('vite', 'bin/vite.js')} build`)
}

/** @param {Place} place */
function webpack(place) {
  place.write('config.js', "export default { entry: './app.js', output: { filename: 'app.js' } }\n")
  place.run('webpack build --mode production --config ./config.js')
}

/**
 * The bundlers that minify, by their package: each writes app.js as dist/app.js.
 *
 * @type {Readonly<Record<string, (place: Place) => void>>}
 */
export const MINIFIERS = {
  vite,
  webpack,
  rolldown: (place) => place.run('rolldown app.js --minify --format es -d dist'),
  esbuild: (place) => place.run('esbuild app.js --bundle --splitting --minify --format=esm --outdir=dist'),
}

/** How each of our WebAssembly builds begins, in hexadecimal. */
const WEBASSEMBLY = '0061736d01000000'

/** @param {string} folder @returns {Map<string, string>} the JavaScript in a folder and below, by its path */
function scriptsIn(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.js$/.test(name),
  )
  const scripts = files.map((name) => /** @type {const} */ ([name, readFileSync(join(folder, name), 'utf8')]))
  return new Map(scripts.filter(([, code]) => !code.includes(WEBASSEMBLY)))
}

/** @param {Iterable<string>} scripts @returns {number} bytes, each script gzipped */
const sizeOf = (scripts) => [...scripts].reduce((sum, code) => sum + gzipSync(code, { level: 9 }).length, 0)

/** @param {Map<string, string>} scripts @returns {string[]} app.js, and what it imports at once */
function scriptsAtStart(scripts) {
  const names = new Set(['app.js'])
  for (const name of names) {
    // Before the bracket of a dynamic import stands no quote.
    for (const [, imported] of scripts.get(name)?.matchAll(/\bimport\b[^"'()]*["']\.\/([^"']+)["']/g) ?? [])
      names.add(imported)
  }
  return [...names].map((name) => scripts.get(name) ?? '')
}

/**
 * @typedef {object} Sizes in bytes
 * @property {number} all all JavaScript of the package: what an app that imports everything may download
 * @property {number} everything what that app downloads at its start
 * @property {number} layerNorm what an app downloads at its start that imports `load` and `LayerNorm`
 * @property {number} nothing the same for an app that imports the package without using it
 */

/**
 * @param {Place} place
 * @param {keyof typeof MINIFIERS} tool
 * @returns {Sizes}
 */
export function sizesWith(place, tool) {
  const [everything, layerNorm, nothing] = Object.values(APPS).map((code) => {
    place.clear('dist')
    place.write('app.js', code)
    MINIFIERS[tool](place)
    return scriptsIn(join(place.folder, 'dist'))
  })
  return {
    all: sizeOf(everything.values()),
    everything: sizeOf(scriptsAtStart(everything)),
    layerNorm: sizeOf(scriptsAtStart(layerNorm)),
    nothing: sizeOf(scriptsAtStart(nothing)),
  }
}

/** @param {Sizes} sizes @returns {string | null} the promise of the package that they break */
export function complaintAbout({ all, layerNorm, nothing }) {
  if (layerNorm > all / 2) return `load and LayerNorm take ${layerNorm} of ${all} bytes, more than half`
  // The app itself has about 20.
  return nothing > 100 ? `an app that uses nothing of the package takes ${nothing} bytes` : null
}
