// Markdown tables with aligned columns, printed a row at a time.

/**
 * @template Row
 * @typedef {{ title: string, width: number, left?: boolean, cell: (row: Row) => string }} Column
 */

/** @param {number} value @returns {string} with about three digits */
export const digits = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

/**
 * @template Row
 * @param {Column<Row>[]} columns
 * @returns {{ head: string, line: (row: Row) => string }}
 */
export function table(columns) {
  const pad = (/** @type {string} */ cell, /** @type {number} */ i) =>
    columns[i].left ? cell.padEnd(columns[i].width) : cell.padStart(columns[i].width)
  const line = (/** @type {string[]} */ cells) => `| ${cells.map(pad).join(' | ')} |`
  return {
    head: [
      line(columns.map(({ title }) => title)),
      line(columns.map(({ width, left }) => (left ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))),
    ].join('\n'),
    line: (row) => line(columns.map(({ cell }) => cell(row))),
  }
}
