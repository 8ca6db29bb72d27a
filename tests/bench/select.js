/**
 * Whether --only asks for a row.
 *
 * @param {string} only a regular expression, case ignored; '' asks for all
 * @param {{ operation: string, tokens?: number, threads: number }} row
 */
export function selects(only, { operation, tokens, threads }) {
  const label = tokens === undefined ? operation : `${operation} T=${tokens}`
  return new RegExp(only, 'i').test(`${label} threads=${threads}`)
}
