// The table, a row at a time: Markdown that lines up.

/** @import { Row } from './contest.js' */

/** @param {number} value in three digits or so */
const digits = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

/** @param {Row} row @param {string} peer */
function ratio({ ours, peers }, peer) {
  const theirs = peers?.[peer]
  return ours !== null && theirs !== undefined ? `${digits(theirs / ours)}x` : ''
}

/** @param {Row} row */
function ours({ ours, unit }) {
  if (ours === null) return 'not available'
  return unit === 'ms' ? digits(ours) : `${digits(ours)} ${unit}`
}

/**
 * @param {string[]} peers
 * @returns {{ title: string, width: number, left?: boolean, cell: (row: Row) => string }[]}
 */
const columns = (peers) => [
  { title: 'operation', width: 21, left: true, cell: ({ operation }) => operation },
  { title: 'T', width: 4, cell: ({ tokens }) => (tokens === undefined ? '' : String(tokens)) },
  { title: 'build', width: 11, left: true, cell: ({ build, threads }) => `${build} / ${threads}` },
  { title: 'ours, ms', width: 13, cell: ours },
  ...peers.flatMap((peer) => [
    {
      title: `${peer}, ms`,
      width: peer.length + 4,
      cell: ({ peers }) => (peers?.[peer] === undefined ? '' : digits(peers[peer])),
    },
    { title: 'ratio', width: 6, cell: (row) => ratio(row, peer) },
  ]),
  { title: 'rate', width: 12, cell: ({ rate }) => (rate ? `${digits(rate.value)} ${rate.unit}` : '') },
  {
    title: 'of the limit',
    width: 12,
    cell: ({ rate, limit }) =>
      rate && limit ? `${((100 * rate.value) / limit.value).toFixed(0)} % of ${digits(limit.value)}` : '',
  },
]

/** @param {string[]} peers */
export function table(peers) {
  const all = columns(peers)
  const pad = (/** @type {string} */ cell, /** @type {number} */ i) =>
    all[i].left ? cell.padEnd(all[i].width) : cell.padStart(all[i].width)
  const line = (/** @type {string[]} */ cells) => `| ${cells.map(pad).join(' | ')} |`
  return {
    head: [
      line(all.map(({ title }) => title)),
      line(all.map(({ width, left }) => (left ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))),
    ].join('\n'),
    line: (/** @type {Row} */ row) => line(all.map(({ cell }) => cell(row))),
  }
}
