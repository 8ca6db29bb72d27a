// Formulas are typeset when the page is built; their numbers are put in here. A place for one is a \text{name} in the
// .tex, which becomes an <mtext>.

/**
 * @param {string} formula MathML, as a .tex file is imported
 * @param {Record<string, string>} numbers what stands in each place, by its name
 * @returns {string} MathML
 */
export function fill(formula, numbers) {
  return formula.replace(/<mtext>(\w+)<\/mtext>/g, (whole, name) =>
    Object.hasOwn(numbers, name) ? `<mn>${numbers[name].replace('-', '−')}</mn>` : whole,
  )
}
