// The build turns formulas (.tex files) into MathML. The page fills numbers into their placeholders:
// \text{name} in the .tex file becomes <mtext>name</mtext>, which `fill` replaces.

/**
 * @param {string} formula MathML, as a .tex file is imported
 * @param {Record<string, string>} numbers the text for each placeholder, by name
 * @returns {string} MathML
 */
export function fill(formula, numbers) {
  return formula.replace(/<mtext>(\w+)<\/mtext>/g, (whole, name) =>
    Object.hasOwn(numbers, name) ? `<mn>${numbers[name].replace('-', '−')}</mn>` : whole,
  )
}
