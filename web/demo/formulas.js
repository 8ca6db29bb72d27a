// Imports a .tex file as MathML, so that the browser needs no typesetting library.

import temml from 'temml'

/**
 * MathML without style attributes, which the page's policy forbids. A hat is marked as an
 * accent, or else browsers draw it too small.
 *
 * @param {string} source TeX
 * @returns {string}
 */
export const toMathML = (source) =>
  temml
    .renderToString(source.trim(), { throwOnError: true, trust: true })
    .replace(/ style="[^"]*"/g, '')
    .replaceAll('<mover>', '<mover accent="true">')

/** The plugin for Vite. */
export const formulas = {
  name: 'formulas',
  /** @param {string} source @param {string} id */
  transform(source, id) {
    if (!id.endsWith('.tex')) return
    return { code: `export default ${JSON.stringify(toMathML(source))}`, map: null }
  },
}
