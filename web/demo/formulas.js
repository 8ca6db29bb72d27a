// Imports a .tex file as MathML, so that the browser needs no typesetting library.

import temml from 'temml'

/**
 * Converts TeX to MathML. The page's policy forbids style attributes, so they are removed. A hat gets the attribute
 * `accent`: without it browsers draw the hat too small.
 */
export const toMathML = (tex) =>
  temml
    .renderToString(tex.trim(), { throwOnError: true, trust: true })
    .replace(/ style="[^"]*"/g, '')
    .replaceAll('<mover>', '<mover accent="true">')

/** The plugin for Vite. */
export const formulas = {
  name: 'formulas',
  transform(source, id) {
    if (!id.endsWith('.tex')) return
    return { code: `export default ${JSON.stringify(toMathML(source))}`, map: null }
  },
}
