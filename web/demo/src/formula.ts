// The build turns formulas (.tex files) into MathML. The page fills numbers into their placeholders:
// \text{name} in the .tex file becomes <mtext>name</mtext>, which `fill` replaces.

/**
 * @param formula MathML, as a .tex file is imported
 * @param numbers the text for each placeholder, by name
 * @returns MathML
 */
export function fill(formula: string, numbers: Record<string, string>): string {
  return formula.replace(/<mtext>(\w+)<\/mtext>/g, (whole, name) =>
    Object.hasOwn(numbers, name) ? `<mn>${numbers[name].replace('-', '−')}</mn>` : whole,
  )
}
