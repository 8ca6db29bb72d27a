// How the page formats and parses numbers.

/** With an ASCII minus, never "-0.0000". */
const decimals = (value: number, digits: number) => value.toFixed(digits).replace(/^-(?=0\.0+$)/, '')

/**
 * The text of a number in a table cell: with a typographic minus sign, and fewer decimals for large numbers.
 *
 * @param digits after the point
 */
export function cellText(value: number, digits = 4): string {
  if (Number.isNaN(value)) return '—'
  if (!Number.isFinite(value)) return value < 0 ? '−∞' : '∞'
  const size = Math.abs(value)
  if (size >= 1e5) return power(value.toExponential(1))
  return decimals(value, size >= 1e4 ? 1 : size >= 1e3 ? 2 : digits).replace('-', '−')
}

/** @param text such as 1.5e+30 @returns 1.5·10³⁰ */
export function power(text: string): string {
  const [mantissa, exponent] = text.replace('+', '').split('e')
  const superscripts = exponent.replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)]).replace('-', '⁻')
  return `${mantissa.replace('-', '−')}·10${superscripts}`
}

/** @returns the shortest decimal that rounds to the same float32 as the value */
export function shortest(value: number): string {
  const rounded = Math.fround(value)
  for (let digits = 1; digits < 9; digits++) {
    const text = String(Number(value.toPrecision(digits)))
    if (Math.fround(Number(text)) === rounded) return text
  }
  return String(Number(value.toPrecision(9)))
}

/** The same with a typographic minus sign. */
export const exact = (value: number): string => shortest(value).replace('-', '−')

/**
 * @param text as typed
 * @returns a finite float32; null if the text is not a number
 */
export function parseNumber(text: string): number | null {
  const trimmed = text
    .trim()
    .replace('−', '-')
    .replace(/^([^.]*),([^.]*)$/, '$1.$2')
  const value = Math.fround(Number(trimmed))
  return trimmed !== '' && Number.isFinite(value) ? value : null
}

const SUBSCRIPTS = '₀₁₂₃₄₅₆₇₈₉'
const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹'

/** @returns the digits as subscripts; other characters are kept */
export function subscript(digits: string): string {
  return digits.replace(/\d/g, (digit) => SUBSCRIPTS[Number(digit)])
}
