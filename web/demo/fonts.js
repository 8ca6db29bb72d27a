// The page's fonts, made by the build: subsets of npm packages with the characters that the page uses. Until
// they arrive, fonts of the reader's system stand in, scaled so that nothing moves. main.ts imports them as
// fonts.css.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { createFontStack } from '@capsizecss/core'
import { fromBuffer } from '@capsizecss/unpack'
import subsetFont from 'subset-font'
import { toMathML } from './formulas.js'

const { resolve } = createRequire(import.meta.url)
const folder = fileURLToPath(new URL('../../build/fonts/', import.meta.url))

/** Each face: its family in the CSS, weight and style, its package and its file there. */
const FACES = [
  { family: 'Text', weight: 400, style: 'normal', from: 'source-serif-4', file: 'latin-400-normal' },
  { family: 'Text', weight: 400, style: 'italic', from: 'source-serif-4', file: 'latin-400-italic' },
  { family: 'Text', weight: 600, style: 'normal', from: 'source-serif-4', file: 'latin-600-normal' },
  { family: 'Mono', weight: 400, style: 'normal', from: 'ibm-plex-mono', file: 'latin-400-normal' },
  { family: 'Formulas', weight: 400, style: 'normal', from: 'stix-two-math', file: 'latin-400-normal' },
]

const nameOf = ({ from, file }) => `${from}-${file}`

const wholeOf = (face) => readFileSync(resolve(`@fontsource/${face.from}/files/${nameOf(face)}.woff2`))

/** OpenType features that the page uses: kerning, ligatures, figures, combining marks. */
const FEATURES = ['kern', 'liga', 'lnum', 'tnum', 'ccmp', 'mark', 'mkmk']

/**
 * Fonts of the readers' systems: name, units per em, ascent, descent, line gap, average width of a character.
 * @capsizecss/metrics has these numbers, and 170 MB of others; DejaVu's are from @capsizecss/unpack.
 */
const SYSTEM = {
  Text: [
    ['Georgia', 2048, 1878, -449, 0, 913],
    ['Noto Serif', 1000, 1069, -293, 0, 481],
    ['DejaVu Serif', 2048, 1901, -483, 0, 1058],
    ['Times New Roman', 2048, 1825, -443, 87, 832],
  ],
  Mono: [
    ['DejaVu Sans Mono', 2048, 1901, -483, 0, 1233],
    ['Courier New', 2048, 1705, -615, 0, 1229],
  ],
}

const range = (first, last) =>
  String.fromCodePoint(...Array.from({ length: last - first + 1 }, (_, i) => first + i))
const ASCII = range(0x20, 0x7e)
/** What `<mi>x</mi>` shows: italic Latin letters, h of which stands elsewhere in Unicode, and Greek ones. */
const ITALICS = range(0x1d434, 0x1d467) + '\u210e' + range(0x1d6fc, 0x1d71b)

/** ASCII, and every other character of the sources and formulas of the page and of the notebook. */
function characters() {
  const folders = ['src/', '../notebook/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
  const texts = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(svelte|m?js|ts|json|tex)$/.test(path))
      .map((path) => {
        const text = readFileSync(folder + path, 'utf8')
        return path.endsWith('.tex') ? toMathML(text) : text
      }),
  )
  return [...new Set(ASCII + texts.join('').replace(/\p{Cc}/gu, ''))].join('')
}

/** Superscripts and subscripts: the other faces have only some, and a power would mix two faces. */
const RAISED = /[¹²³⁰-₉]/gu

/** A face with the page's characters. The math face has all that is raised or lowered. */
function subset(face) {
  const texts = face.family === 'Formulas' ? characters() + ITALICS : characters().replace(RAISED, '')
  return subsetFont(wholeOf(face), texts, {
    targetFormat: 'woff2',
    keepFeatures: FEATURES,
    noHinting: true,
    preserveNameIds: [13, 14], // the license; the copyright stays in any case
  })
}

const fontFace = (face, family = face.family, range = 'U+0-10FFFF') => `@font-face {
  font-family: ${family};
  font-weight: ${face.weight};
  font-style: ${face.style};
  font-display: swap;
  src: url('./${nameOf(face)}.woff2') format('woff2');
  unicode-range: ${range};
}
`

/** A list of families that begins with ours. The math face has the symbols that the others lack. */
async function stack(family, generic) {
  const own = await fromBuffer(wholeOf(FACES.find((face) => face.family === family)))
  const others = SYSTEM[family].map(([familyName, unitsPerEm, ascent, descent, lineGap, xWidthAvg]) => {
    return { familyName, unitsPerEm, ascent, descent, lineGap, xWidthAvg }
  })
  const { fontFamily, fontFaces } = createFontStack([{ ...own, familyName: family }, ...others])
  return { families: `${fontFamily.replace(family, `${family}, Symbols`)}, ${generic}`, fontFaces }
}

/** Writes the subsets and fonts.css to build/fonts/. @returns the path of fonts.css */
async function write() {
  const path = `${folder}fonts.css`
  const made = createHash('sha256')
    .update(characters())
    .update(readFileSync(fileURLToPath(import.meta.url)))
  const stamp = `/* Made by web/demo/fonts.js from ${made.digest('hex')}. */\n`
  if (existsSync(path) && readFileSync(path, 'utf8').startsWith(stamp)) return path
  mkdirSync(folder, { recursive: true })
  for (const face of FACES) writeFileSync(`${folder}${nameOf(face)}.woff2`, await subset(face))
  const [text, mono] = [await stack('Text', 'serif'), await stack('Mono', 'monospace')]
  const math = FACES.find(({ family }) => family === 'Formulas')
  const css = `${FACES.map((face) => fontFace(face)).join('')}${fontFace(math, 'Symbols', 'U+80-10FFFF')}
${text.fontFaces}
${mono.fontFaces}
:root {
  --serif: ${text.families};
  --mono: ${mono.families};
  --math: Formulas, math;
}
`
  writeFileSync(path, stamp + css)
  return path
}

/** The licenses, which the fonts' own require to be with them. */
const licenses = () =>
  [...new Set(FACES.map(({ from }) => from))]
    .map(
      (from) =>
        `@fontsource/${from}, a subset\n\n${readFileSync(resolve(`@fontsource/${from}/LICENSE`), 'utf8')}`,
    )
    .join('\n\n')

/** The plugin for Vite: `import 'fonts.css'`. */
export const fonts = {
  name: 'fonts',
  resolveId: { filter: { id: /^fonts\.css$/ }, handler: write },
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'assets/fonts.txt', source: licenses() })
  },
}
