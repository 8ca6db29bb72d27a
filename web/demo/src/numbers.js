// Numbers as the page writes and reads them.

/** @param {number} value @returns {string} four decimals as the notebook prints, with an ASCII minus; never "-0.0000" */
export function fourDecimals(value) {
  return value.toFixed(4).replace(/^-(?=0\.0+$)/, '')
}

/** @param {number} value @returns {string} for a cell: four decimals and a real minus sign, short where it is huge */
export function cellText(value) {
  if (Number.isNaN(value)) return '—'
  if (!Number.isFinite(value)) return value < 0 ? '−∞' : '∞'
  const text = Math.abs(value) >= 1e4 ? value.toExponential(1) : fourDecimals(value)
  return text.replaceAll('-', '−')
}

/** @param {number} value a float32 @returns {string} the shortest decimal that is this very float32 */
export function shortest(value) {
  for (let digits = 1; digits < 9; digits++) {
    const text = String(Number(value.toPrecision(digits)))
    if (Math.fround(Number(text)) === value) return text
  }
  return String(Number(value.toPrecision(9)))
}

/** @param {string} text as typed @returns {number | null} a finite float32, or null where it is none */
export function parseNumber(text) {
  const trimmed = text.trim().replace('−', '-').replace(/^([^.]*),([^.]*)$/, '$1.$2')
  const value = Math.fround(Number(trimmed))
  return trimmed !== '' && Number.isFinite(value) ? value : null
}

const SUBSCRIPTS = '₀₁₂₃₄₅₆₇₈₉'

/** @param {string} digits @returns {string} */
export function subscript(digits) {
  return digits.replace(/\d/g, (digit) => SUBSCRIPTS[Number(digit)])
}
