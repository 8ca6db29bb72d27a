// Explains a number: how it was computed, with numbers, and the cells that it depends on.

/** @import { Result, Rows } from './compute.js' */
/** @import { Settings } from './slice.js' */

import { cellText, subscript } from '../../numbers.js'
import { INPUTS, OUTPUTS, SAMPLES } from './compute.js'
import { BY_HAND, LAYER_NORM } from './pytorch.js'

/**
 * @typedef {object} Place a cell of the figure
 * @property {'x' | 'w' | 'z' | 'y' | 'n' | 'g' | 'l' | 'h'} table the batch; the layer (a row for each input,
 *   then the bias); what Linear gives; the outputs; the step's own rows; scale and shift; the outputs
 *   normalized by LayerNorm, and by hand
 * @property {number} row counted from 0
 * @property {number | 'mean' | 'variance'} col
 *
 * @typedef {object} Figure
 * @property {Settings} settings
 * @property {Result} result
 * @property {(table: 'x' | 'w' | 'g', row: number, col: number) => number} at a number that can be changed
 * @property {'centered' | 'divided' | 'scaled'} now what table n shows
 * @property {(row: number) => string} why a row has no result, or ''
 */

/** @param {Place} place */
export const key = ({ table, row, col }) => `${table} ${row} ${col}`

const MORE_DIGITS = 6
const columns = [...Array(OUTPUTS).keys()]
const inputs = [...Array(INPUTS).keys()]
const samples = [...Array(SAMPLES).keys()]

/** As a term after an operator. @param {number} value */
const term = (value) => (value < 0 ? `(${cellText(value)})` : cellText(value))
/** The row, or the number in it, as a subscript counted from 1. @param {number} row @param {number} [col] */
const index = (row, col) => subscript(`${row + 1}${col === undefined ? '' : col + 1}`)
/** The value, and in full where four decimals do not tell it from 0. @param {number} value */
const full = (value) =>
  value !== 0 && Math.abs(value) < 5e-5
    ? `${cellText(value)}, in full ${String(value.toExponential(4)).replaceAll('-', '−')}`
    : cellText(value)
const HAT = 'ŷ'

/**
 * @param {Place} place
 * @param {Figure} figure
 * @returns {{ formula: string, sources: Set<string> }}
 */
export function explain(place, figure) {
  const { table, row, col } = place
  if (col === 'mean' || col === 'variance') return summary(place, figure)
  if (table === 'z' || table === 'y') return output(table, row, col, figure)
  if (table === 'n' || table === 'l' || table === 'h') return normalized(table, row, col, figure)
  return given(table, row, col, figure)
}

/**
 * A number that can be changed: what depends on it.
 *
 * @param {'x' | 'w' | 'g'} table
 * @param {number} row
 * @param {number} col
 * @param {Figure} figure
 */
function given(table, row, col, { at }) {
  const value = (/** @type {string} */ name) => `${name} = ${cellText(at(table, row, col))}`
  /** @type {(tables: Place['table'][]) => Set<string>} */
  const below = (tables) => new Set(tables.flatMap((table) => samples.map((row) => key({ table, row, col }))))
  if (table === 'x') {
    return {
      formula: `${value(`x${index(row, col)}`)}. All of row ${row + 1} depends on it, and no other row.`,
      sources: new Set(
        /** @type {Place['table'][]} */ (['z', 'y', 'n', 'l', 'h']).flatMap((table) =>
          columns.map((col) => key({ table, row, col })),
        ),
      ),
    }
  }
  if (table === 'g') {
    const [name, verb] = row === 0 ? ['γ', 'multiplied by'] : ['β', 'shifted by']
    return {
      formula: `${value(name + subscript(String(col + 1)))}. Column ${col + 1} of every row is ${verb} it.`,
      sources: below(['n']),
    }
  }
  const to = `z${subscript(String(col + 1))}`
  const formula =
    row < INPUTS
      ? `${value(`w${index(col, row)}`)}: the weight of x${subscript(String(row + 1))} in ${to}, for every row.`
      : `${value(`b${subscript(String(col + 1))}`)}: the bias, added to ${to} in every row.`
  return { formula, sources: below(['z', 'y']) }
}

/** @param {'z' | 'y'} table @param {number} row @param {number} col @param {Figure} figure */
function output(table, row, col, { result, at }) {
  const products = inputs.map(
    (i) => `${i ? term(at('x', row, i)) : cellText(at('x', row, i))}·${term(at('w', i, col))}`,
  )
  const sum = `${products.join(' + ')} + ${term(at('w', INPUTS, col))}`
  const formula =
    table === 'z'
      ? `z${index(row, col)} = ${sum} = ${cellText(result.linear[row][col])}`
      : `y${index(row, col)} = max(0, ${sum}) = ${cellText(result.outputs.values[row][col])}`
  return {
    formula,
    sources: new Set([
      ...inputs.map((i) => key({ table: 'x', row, col: i })),
      ...[...inputs, INPUTS].map((i) => key({ table: 'w', row: i, col })),
    ]),
  }
}

/** The rows that a table shows. @param {Place['table']} table @param {Figure} figure @returns {Rows} */
function shown(table, { result, now }) {
  if (table === 'l') return result.layerNorm
  if (table === 'h') return result.byHand
  return table === 'n' ? result[now] : result.outputs
}

/** How a table was normalized. @param {Place['table']} table @param {Figure} figure */
const wayOf = (table, { settings }) => (table === 'l' ? LAYER_NORM : table === 'h' ? BY_HAND : settings)

/** A row's mean or variance. @param {Place} place @param {Figure} figure */
function summary({ table, row, col }, figure) {
  const rows = shown(table, figure)
  const values = rows.values[row]
  const symbol = table === 'y' ? '' : table === 'n' && figure.now === 'centered' ? '(y − μ)' : HAT
  const of = symbol ? ` of ${symbol}${index(row)}` : index(row)
  const from = columns.map((col) => key({ table, row, col }))
  const reason = table === 'y' ? '' : figure.why(row)
  if (col === 'mean') {
    const sum = values.map((value, i) => (i ? term(value) : cellText(value))).join(' + ')
    const formula = `μ${of} = (${sum}) / ${OUTPUTS} = ${full(rows.mean[row])}`
    return { formula: reason || formula, sources: new Set(from) }
  }
  const squares = values.map((value) => `(${cellText(value)} − ${term(rows.mean[row])})²`).join(' + ')
  const divisor = wayOf(table, figure).unbiased ? `(${OUTPUTS} − 1)` : OUTPUTS
  const formula = `σ²${of} = (${squares}) / ${divisor} = ${full(rows.variance[row])}`
  return { formula: reason || formula, sources: new Set([...from, key({ table, row, col: 'mean' })]) }
}

/** @param {'n' | 'l' | 'h'} table @param {number} row @param {number} col @param {Figure} figure */
function normalized(table, row, col, figure) {
  const { result, at, now, why } = figure
  const { outputs } = result
  const { eps } = wayOf(table, figure)
  const variance = table === 'l' || table === 'h' ? shownBefore(table, result)[row] : outputs.variance[row]
  const [y, mean] = [outputs.values[row][col], outputs.mean[row]]
  const value = cellText(shown(table, figure).values[row][col])
  /** @type {Place[]} */
  const from = [
    { table: 'y', row, col },
    { table: 'y', row, col: 'mean' },
  ]
  if (table === 'n' && now === 'centered') {
    return { formula: difference(row, col, y, mean, value), sources: new Set(from.map(key)) }
  }
  from.push({ table: 'y', row, col: 'variance' })
  const root = eps ? `√(${cellText(variance)} + ${eps})` : `√${cellText(variance)}`
  const symbols = `(y${index(row, col)} − μ${index(row)}) / √${eps ? `(σ²${index(row)} + ε)` : `σ²${index(row)}`}`
  const numbers = `(${cellText(y)} − ${term(mean)}) / ${root}`
  let formula = `${HAT}${index(row, col)} = ${symbols} = ${numbers} = ${value}`
  if (table === 'n' && now === 'scaled') {
    from.push({ table: 'g', row: 0, col }, { table: 'g', row: 1, col })
    const [scale, shift] = [at('g', 0, col), at('g', 1, col)]
    const c = subscript(String(col + 1))
    if (scale !== 1 || shift !== 0)
      formula =
        `${HAT}${index(row, col)} = γ${c}·${symbols} + β${c} = ` +
        `${term(scale)}·${numbers} + ${term(shift)} = ${value}`
  }
  return { formula: why(row) || formula, sources: new Set(from.map(key)) }
}

/** The outputs' variance by which a table was normalized. @param {'l' | 'h'} table @param {Result} result */
const shownBefore = (table, { layerNorm, byHand }) => (table === 'l' ? layerNorm : byHand).before

/** @param {number} row @param {number} col @param {number} y @param {number} mean @param {string} value */
function difference(row, col, y, mean, value) {
  const asShown = (/** @type {number} */ number) => Number(number.toFixed(4))
  // More digits if the rounded numbers do not add up.
  const adds = Math.abs(asShown(y) - asShown(mean) - asShown(y - mean)) < 5e-5
  const long = (/** @type {number} */ number) => cellText(number, MORE_DIGITS)
  const numbers = adds
    ? `${cellText(y)} − ${term(mean)} = ${value}`
    : `${long(y)} − ${mean < 0 ? `(${long(mean)})` : long(mean)} = ${long(y - mean)}`
  return `y${index(row, col)} − μ${index(row)} = ${numbers}`
}
