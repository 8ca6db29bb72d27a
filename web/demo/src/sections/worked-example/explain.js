// Explains a number: its formula with numbers, and the cells that it depends on.

/** @import { Result, Step } from './compute.js' */
/** @import { Settings } from './slice.js' */

import { cellText, subscript } from '../../numbers.js'
import { INPUTS } from './compute.js'

/**
 * @typedef {object} Place a cell of the figure
 * @property {'x' | 'w' | 'y' | 'n' | 'g'} table the batch, the layer (a row for each input, then the bias),
 *   its outputs, the normalised rows, scale and shift
 * @property {number} row counted from 0, over the whole batch
 * @property {number | 'mean' | 'variance'} col
 */

/** @param {Place} place */
export const key = ({ table, row, col }) => `${table} ${row} ${col}`

/**
 * @param {Place} place
 * @param {object} figure
 * @param {Settings} figure.settings
 * @param {Result} figure.result
 * @param {(table: Place['table'], row: number, col: number) => number} figure.at an editable number
 * @param {(row: number, col?: number) => string} figure.index of a row, or of a number in it, as a subscript
 * @param {Step} figure.now what the normalised table shows, one of the result's
 * @param {boolean} figure.raw whether the outputs are still Linear's, before ReLU
 * @param {(row: number) => string} figure.why a row has no result, or ''
 * @returns {{ formula: string, sources: Set<string> }}
 */
export function explain(place, figure) {
  const { table, row, col } = place
  const { result, settings } = figure
  const source = settings.target === 'outputs' ? 'y' : 'x'
  if (table === 'n')
    return col === 'mean' || col === 'variance' ? summary('n', place, figure) : normalised(row, col, figure)
  if (col === 'mean' || col === 'variance') return summary(source, place, figure)
  if (table === 'y') return output(row, col, figure)
  const width = result.before.values[0].length
  const value = (/** @type {string} */ name) => `${name} = ${cellText(figure.at(table, row, col))}`
  const all = (/** @type {Place['table']} */ of, /** @type {number} */ r) =>
    Array.from({ length: width }, (_, c) => key({ table: of, row: r, col: c }))
  const column = (/** @type {Place['table']} */ of) =>
    result.before.values.map((_, r) => key({ table: of, row: r, col }))
  if (table === 'x') {
    const sources = new Set([...(source === 'y' ? all('y', row) : []), ...all('n', row)])
    return {
      formula: `${value(`x${figure.index(row, col)}`)}: all of row ${figure.index(row)} follows from it, and no other row.`,
      sources,
    }
  }
  if (table === 'g') {
    const name = `${row === 0 ? 'γ' : 'β'}${subscript(String(col + 1))}`
    return {
      formula: `${value(name)}: what every row’s column ${col + 1} is ${row === 0 ? 'multiplied by' : 'moved by'} at last.`,
      sources: new Set(column('n')),
    }
  }
  const to = `y${subscript(String(col + 1))}`
  const [name, what] =
    row < INPUTS
      ? [
          `w${subscript(`${col + 1}${row + 1}`)}`,
          `how much of x${subscript(String(row + 1))} goes into ${to}`,
        ]
      : [`b${subscript(String(col + 1))}`, `what ${to} begins with`]
  return { formula: `${value(name)}: ${what}, in every row.`, sources: new Set(column('y')) }
}

const MORE_DIGITS = 6
const asShown = (/** @type {number} */ value) => Number(value.toFixed(4))

/** As a term after an operator. @param {number} value */
const term = (value) => (value < 0 ? `(${cellText(value)})` : cellText(value))

/** @param {number} row @param {number} col @param {Parameters<typeof explain>[1]} figure */
function output(row, col, { result, at, index, raw }) {
  const inputs = Array.from({ length: INPUTS }, (_, i) => i)
  const products = inputs.map(
    (i) => `${i ? term(at('x', row, i)) : cellText(at('x', row, i))}·${term(at('w', i, col))}`,
  )
  const sum = `${products.join(' + ')} + ${term(at('w', INPUTS, col))}`
  const from = [
    ...inputs.map((i) => ({ table: 'x', row, col: i })),
    ...[...inputs, INPUTS].map((i) => ({ table: 'w', row: i, col })),
  ]
  const formula = raw
    ? `z${index(row, col)} = ${sum} = ${cellText(result.linear[row][col])}`
    : `y${index(row, col)} = max(0, ${sum}) = ${cellText(result.before.values[row][col])}`
  return { formula, sources: new Set(from.map((place) => key(/** @type {Place} */ (place)))) }
}

/**
 * Mean or variance of a row.
 *
 * @param {'x' | 'y' | 'n'} table
 * @param {Place} place
 * @param {Parameters<typeof explain>[1]} figure
 */
function summary(table, { row, col }, { settings, result, index, now, why }) {
  const step = table === 'n' ? now : result.before
  const values = step.values[row]
  const n = values.length
  const from = values.map((_, c) => key({ table, row, col: c }))
  const of = table === 'n' ? ` of ${symbol(settings, now, result)}${index(row)}` : index(row)
  if (col === 'mean') {
    const sum = values.map((value, c) => (c ? term(value) : cellText(value))).join(' + ')
    return { formula: `μ${of} = (${sum}) / ${n} = ${full(step.mean[row])}`, sources: new Set(from) }
  }
  const squares = values.map((value) => `(${cellText(value)} − ${term(step.mean[row])})²`).join(' + ')
  const divisor = settings.unbiased ? `(${n} − 1)` : n
  const formula = `σ²${of} = (${squares}) / ${divisor} = ${full(step.variance[row])}`
  const reason = table === 'n' ? why(row) : ''
  return { formula: reason || formula, sources: new Set([...from, key({ table, row, col: 'mean' })]) }
}

/** The value, and in full where four decimals do not tell it from 0. @param {number} value */
const full = (value) =>
  value !== 0 && Math.abs(value) < 5e-5
    ? `${cellText(value)}, in full ${String(value.toExponential(4)).replaceAll('-', '−')}`
    : cellText(value)

/** @param {string} letter @returns {string} with a hat: normalised */
const hat = (letter) => `${letter}\u0302`.normalize()

/**
 * The symbol of the normalized table's numbers.
 *
 * @param {Settings} settings
 * @param {Step} now
 * @param {Result} result
 */
function symbol({ target }, now, result) {
  const before = target === 'outputs' ? 'y' : 'x'
  return now === result.centred ? `(${before} − μ)` : hat(before)
}

/** @param {number} row @param {number} col @param {Parameters<typeof explain>[1]} figure */
function normalised(row, col, { settings, result, at, index, now, why }) {
  const { before, centred, divided } = result
  const name = settings.target === 'outputs' ? 'y' : 'x'
  const source = /** @type {'x' | 'y'} */ (name)
  const [x, mean, variance] = [before.values[row][col], before.mean[row], before.variance[row]]
  const difference = `${cellText(x)} − ${term(mean)}`
  /** @type {Place[]} */
  const from = [
    { table: source, row, col },
    { table: source, row, col: 'mean' },
  ]
  const keys = () => new Set(from.map(key))
  const result_ = cellText(now.values[row][col])
  if (now === centred) {
    // More digits if the rounded numbers do not add up.
    const adds = Math.abs(asShown(x) - asShown(mean) - asShown(x - mean)) < 5e-5
    const long = (/** @type {number} */ value) => cellText(value, MORE_DIGITS)
    const sum = adds
      ? `${difference} = ${result_}`
      : `${long(x)} − ${mean < 0 ? `(${long(mean)})` : long(mean)} = ${long(now.values[row][col])}`
    return { formula: `${name}${index(row, col)} − μ${index(row)} = ${sum}`, sources: keys() }
  }
  from.push({ table: source, row, col: 'variance' })
  const { eps } = settings
  const root = eps ? `√(${cellText(variance)} + ${eps})` : `√${cellText(variance)}`
  const symbols = `(${name}${index(row, col)} − μ${index(row)}) / √${eps ? `(σ²${index(row)} + ε)` : `σ²${index(row)}`}`
  const [scale, shift] = [at('g', 0, col), at('g', 1, col)]
  const c = subscript(String(col + 1))
  let formula = `${hat(name)}${index(row, col)} = ${symbols} = (${difference}) / ${root} = ${result_}`
  if (now !== divided) {
    from.push({ table: 'g', row: 0, col }, { table: 'g', row: 1, col })
    if (scale !== 1 || shift !== 0) {
      formula = `${hat(name)}${index(row, col)} = γ${c}·${symbols} + β${c} = ${term(scale)}·(${difference}) / ${root} + ${term(shift)} = ${result_}`
    }
  }
  return { formula: why(row) || formula, sources: keys() }
}
