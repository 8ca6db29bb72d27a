// Explains a number: how it was computed, with numbers, and the cells that it depends on.

import { cellText, subscript } from '../../numbers.ts'
import { INPUTS, OUTPUTS, SAMPLES, type Result, type Rows } from './compute.ts'
import { BY_HAND, LAYER_NORM } from './pytorch.ts'
import type { Settings } from './slice.ts'

/** A cell of the figure. */
export interface Place {
  /**
   * The batch; the layer (a row for each input, then the bias); what Linear gives; the outputs; the step's
   * own rows; scale and shift; the outputs normalized by LayerNorm, and by hand.
   */
  table: 'x' | 'w' | 'z' | 'y' | 'n' | 'g' | 'l' | 'h'
  /** Counted from 0. */
  row: number
  col: number | 'mean' | 'variance'
}

interface Figure {
  settings: Settings
  result: Result
  /** A number that can be changed. */
  at: (table: 'x' | 'w' | 'g', row: number, col: number) => number
  /** What table n shows. */
  now: 'centered' | 'divided' | 'scaled'
  /** Why a row has no result; '' if it has one. */
  why: (row: number) => string
}

export const key = ({ table, row, col }: Place) => `${table} ${row} ${col}`

/** The tables that are computed from the batch. */
const COMPUTED: readonly Place['table'][] = ['z', 'y', 'n', 'l', 'h']
const MORE_DIGITS = 6
const columns = [...Array(OUTPUTS).keys()]
const inputs = [...Array(INPUTS).keys()]
const samples = [...Array(SAMPLES).keys()]

/** As a term after an operator. */
const term = (value: number) => (value < 0 ? `(${cellText(value)})` : cellText(value))
/** The row, or the number in it, as a subscript counted from 1. */
const index = (row: number, col?: number) => subscript(`${row + 1}${col === undefined ? '' : col + 1}`)
/** The value, and in full where four decimals do not tell it from 0. */
const full = (value: number) =>
  value !== 0 && Math.abs(value) < 5e-5
    ? `${cellText(value)}, in full ${String(value.toExponential(4)).replaceAll('-', '−')}`
    : cellText(value)
const HAT = 'ŷ'

export function explain(place: Place, figure: Figure): { formula: string; sources: Set<string> } {
  const { table, row, col } = place
  if (col === 'mean' || col === 'variance') return summary(place, figure)
  if (table === 'z' || table === 'y') return output(table, row, col, figure)
  if (table === 'n' || table === 'l' || table === 'h') return normalized(table, row, col, figure)
  return given(table, row, col, figure)
}

/** A number that can be changed: what depends on it. */
function given(table: 'x' | 'w' | 'g', row: number, col: number, { at }: Figure) {
  const value = (name: string) => `${name} = ${cellText(at(table, row, col))}`
  const below: (tables: Place['table'][]) => Set<string> = (tables) =>
    new Set(tables.flatMap((table) => samples.map((row) => key({ table, row, col }))))
  if (table === 'x') {
    return {
      formula: `${value(`x${index(row, col)}`)}. All of row ${row + 1} depends on it, and no other row.`,
      sources: new Set(COMPUTED.flatMap((table) => columns.map((col) => key({ table, row, col })))),
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

function output(table: 'z' | 'y', row: number, col: number, { result, at }: Figure) {
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

/** The rows that a table shows. */
function shown(table: Place['table'], { result, now }: Figure): Rows {
  if (table === 'l') return result.layerNorm
  if (table === 'h') return result.byHand
  return table === 'n' ? result[now] : result.outputs
}

/** How a table was normalized. */
const wayOf = (table: Place['table'], { settings }: Figure) =>
  table === 'l' ? LAYER_NORM : table === 'h' ? BY_HAND : settings

/** A row's mean or variance. */
function summary({ table, row, col }: Place, figure: Figure) {
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

function normalized(table: 'n' | 'l' | 'h', row: number, col: number, figure: Figure) {
  const { result, at, now, why } = figure
  const { outputs } = result
  const { eps } = wayOf(table, figure)
  const variance = table === 'l' || table === 'h' ? shownBefore(table, result)[row] : outputs.variance[row]
  const [y, mean] = [outputs.values[row][col], outputs.mean[row]]
  const value = cellText(shown(table, figure).values[row][col])
  const from: Place[] = [
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

/** The outputs' variance by which a table was normalized. */
const shownBefore = (table: 'l' | 'h', { layerNorm, byHand }: Result) =>
  (table === 'l' ? layerNorm : byHand).before

function difference(row: number, col: number, y: number, mean: number, value: string) {
  const asShown = (number: number) => Number(number.toFixed(4))
  // More digits if the rounded numbers do not add up.
  const adds = Math.abs(asShown(y) - asShown(mean) - asShown(y - mean)) < 5e-5
  const long = (number: number) => cellText(number, MORE_DIGITS)
  const numbers = adds
    ? `${cellText(y)} − ${term(mean)} = ${value}`
    : `${long(y)} − ${mean < 0 ? `(${long(mean)})` : long(mean)} = ${long(y - mean)}`
  return `y${index(row, col)} − μ${index(row)} = ${numbers}`
}
