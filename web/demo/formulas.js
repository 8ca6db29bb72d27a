// Imports a .tex file as MathML, so that the browser needs no typesetting library.

import temml from 'temml'

/** @param {string} source TeX @returns {string} MathML without style attributes: the page's policy forbids them */
export const toMathML = (source) =>
  temml.renderToString(source.trim(), { throwOnError: true, trust: true }).replace(/ style="[^"]*"/g, '')

/** The plugin for Vite. */
export const formulas = {
  name: 'formulas',
  /** @param {string} source @param {string} id */
  transform(source, id) {
    if (!id.endsWith('.tex')) return
    return { code: `export default ${JSON.stringify(toMathML(source))}`, map: null }
  },
}
