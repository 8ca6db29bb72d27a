// How the page formats and parses numbers.

/**
 * @param {number} value
 * @returns {string} four decimals, as the notebook prints; ASCII minus, never "-0.0000"
 */
export function fourDecimals(value) {
  return decimals(value, 4)
}

/** @param {number} value @param {number} digits */
function decimals(value, digits) {
  return value.toFixed(digits).replace(/^-(?=0\.0+$)/, '')
}

/**
 * The text of a number in a table cell: with a typographic minus sign, and fewer decimals for large numbers.
 *
 * @param {number} value
 * @param {number} [digits] after the point
 * @returns {string}
 */
export function cellText(value, digits = 4) {
  if (Number.isNaN(value)) return '—'
  if (!Number.isFinite(value)) return value < 0 ? '−∞' : '∞'
  const size = Math.abs(value)
  const text =
    size >= 1e5 ? value.toExponential(1) : decimals(value, size >= 1e4 ? 1 : size >= 1e3 ? 2 : digits)
  return text.replaceAll('-', '−')
}

/** @param {number} value a float32 @returns {string} the shortest decimal that rounds to this float32 */
export function shortest(value) {
  for (let digits = 1; digits < 9; digits++) {
    const text = String(Number(value.toPrecision(digits)))
    if (Math.fround(Number(text)) === value) return text
  }
  return String(Number(value.toPrecision(9)))
}

/**
 * @param {string} text as typed
 * @returns {number | null} a finite float32; null if the text is not a number
 */
export function parseNumber(text) {
  const trimmed = text
    .trim()
    .replace('−', '-')
    .replace(/^([^.]*),([^.]*)$/, '$1.$2')
  const value = Math.fround(Number(trimmed))
  return trimmed !== '' && Number.isFinite(value) ? value : null
}

const SUBSCRIPTS = '₀₁₂₃₄₅₆₇₈₉'

/** @param {string} digits @returns {string} the digits as subscripts; other characters are kept */
export function subscript(digits) {
  return digits.replace(/\d/g, (digit) => SUBSCRIPTS[Number(digit)])
}
