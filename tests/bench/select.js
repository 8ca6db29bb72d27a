/**
 * @param {string} only the option --only: a regular expression, case ignored; '' selects all rows
 * @param {{ operation: string, tokens?: number, threads: number }} row
 * @returns {boolean} whether the option selects the row
 */
export function selects(only, { operation, tokens, threads }) {
  const label = tokens === undefined ? operation : `${operation} T=${tokens}`
  return new RegExp(only, 'i').test(`${label} threads=${threads}`)
}
