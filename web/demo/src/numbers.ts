// How the page formats and parses numbers.

/** With an ASCII minus, never "-0.0000". */
const decimals = (value: number, digits: number) => value.toFixed(digits).replace(/^-(?=0\.0+$)/, '')

/** As JavaScript writes it, with fewer decimals for a large number. */
export function rounded(value: number, digits: number) {
  const size = Math.abs(value)
  const fewer = Math.max(1, digits - 3)
  if (size >= 1e5) return value.toExponential(fewer)
  return decimals(value, size >= 1e4 ? fewer : size >= 1e3 ? Math.max(2, digits - 2) : digits)
}

/**
 * The text of a number in a table cell: with a typographic minus sign, and fewer decimals for large numbers.
 *
 * @param digits after the point
 */
export function cellText(value: number, digits = 4): string {
  if (Number.isNaN(value)) return '—'
  if (!Number.isFinite(value)) return value < 0 ? '−∞' : '∞'
  return typeset(rounded(value, digits))
}

/** As `cellText`, on a phone: with two decimals, or as many as fit. */
export function shortText(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e3 && size < 1e5) return typeset(String(Math.round(value)))
  return cellText(value, size < 100 ? 2 : 1)
}

/** @param text of a number as JavaScript writes it, such as -1.5e+30 @returns −1.5·10³⁰ */
export function typeset(text: string): string {
  const [mantissa, exponent] = text.replace('+', '').split('e')
  const superscripts = exponent?.replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)]).replace('-', '⁻')
  return mantissa.replace('-', '−') + (superscripts ? `·10${superscripts}` : '')
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

/** The same as the page writes it; what is no finite number, as in a cell. */
export const exact = (value: number): string =>
  Number.isFinite(value) ? typeset(shortest(value)) : cellText(value)

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
