// Explains a number: how it was computed, with numbers, and the cells that it depends on.

import { INPUTS, OUTPUTS, SAMPLES } from '../../example.ts'
import { cellText, subscript } from '../../numbers.ts'
import type { Example } from './model.svelte.ts'
import { term } from './steps.ts'

/** A cell of the figure. */
export interface Place {
  /**
   * The batch; the layer (a row for each input, then the bias); what Linear gives; the outputs; the step's
   * own rows; scale and shift.
   */
  table: 'x' | 'w' | 'z' | 'y' | 'n' | 'g'
  /** Counted from 0. */
  row: number
  col: number | 'mean' | 'variance'
}

export const key = ({ table, row, col }: Place) => `${table} ${row} ${col}`

const range = (n: number) => [...Array(n).keys()]
/** The row, or the number in it, as a subscript counted from 1. */
const index = (row: number, col?: number) => subscript(`${row + 1}${col === undefined ? '' : col + 1}`)
/** The value, and in full where four decimals do not tell it from 0. */
const full = (value: number) =>
  value !== 0 && Math.abs(value) < 5e-5
    ? `${cellText(value)}, in full ${String(value.toExponential(4)).replaceAll('-', '−')}`
    : cellText(value)
/** Several numbers as a sum. */
const sum = (terms: number[]) => terms.map((value, i) => (i ? term(value) : cellText(value))).join(' + ')

type Explained = { formula: string; sources: Place[] }

export function explain(place: Place, example: Example): Explained {
  const { table, row, col } = place
  if (col === 'mean' || col === 'variance') return summary(place, example)
  if (table === 'z' || table === 'y') return output(table, row, col, example)
  if (table !== 'n') return given(table, row, col, example)
  const { outputs } = example.result
  const from: Place['col'][] = [
    col,
    'mean',
    ...(example.step.rows === 'centered' ? [] : ['variance' as const]),
  ]
  const scales = example.step.name === 'scale'
  const formula = example.step.tell({
    row: index(row),
    col: subscript(String(col + 1)),
    y: outputs.values[row][col],
    mean: outputs.mean[row],
    variance: outputs.variance[row],
    eps: example.settings.eps,
    scale: example.at('g', 0, col),
    shift: example.at('g', 1, col),
    value: example.rows.values[row][col],
  })
  return {
    formula: example.why(row) || formula,
    sources: [
      ...from.map((col) => ({ table: 'y' as const, row, col })),
      ...(scales ? [0, 1].map((row) => ({ table: 'g' as const, row, col })) : []),
    ],
  }
}

/** A number that can be changed: what depends on it. */
function given(table: 'x' | 'w' | 'g', row: number, col: number, example: Example): Explained {
  const value = (name: string) => `${name} = ${cellText(example.at(table, row, col))}`
  const below = (tables: Place['table'][]) =>
    tables.flatMap((table) => range(SAMPLES).map((row) => ({ table, row, col })))
  if (table === 'x') {
    const computed = ['z', 'y', 'n'] as const
    return {
      formula: `${value(`x${index(row, col)}`)}. All of row ${row + 1} depends on it, and no other row.`,
      sources: computed.flatMap((table) => range(OUTPUTS).map((col) => ({ table, row, col }))),
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

function output(table: 'z' | 'y', row: number, col: number, example: Example): Explained {
  const { at, computed, moved, y } = example
  if (table === 'y' && moved[row])
    return { formula: `y${index(row, col)} = ${cellText(y[row][col])}, as you moved it.`, sources: [] }
  const products = range(INPUTS).map((i) => {
    const x = at('x', row, i)
    return `${i ? term(x) : cellText(x)}·${term(at('w', i, col))}`
  })
  const sum = `${products.join(' + ')} + ${term(at('w', INPUTS, col))}`
  const formula =
    table === 'z'
      ? `z${index(row, col)} = ${sum} = ${cellText(computed.z[row][col])}`
      : `y${index(row, col)} = max(0, ${sum}) = ${cellText(y[row][col])}`
  return {
    formula,
    sources: [
      ...range(INPUTS).map((col) => ({ table: 'x' as const, row, col })),
      ...range(INPUTS + 1).map((row) => ({ table: 'w' as const, row, col })),
    ],
  }
}

/** A row's mean or variance. */
function summary({ table, row, col }: Place, example: Example): Explained {
  const rows = table === 'y' ? example.result.outputs : example.rows
  const values = rows.values[row]
  const of =
    table === 'y' ? index(row) : ` of ${example.step.rows === 'centered' ? '(y − μ)' : 'ŷ'}${index(row)}`
  const squares = values.map((value) => `(${cellText(value)} − ${term(rows.mean[row])})²`).join(' + ')
  const divisor = example.settings.divisor === 'n-1' ? `(${OUTPUTS} − 1)` : OUTPUTS
  const formula =
    col === 'mean'
      ? `μ${of} = (${sum(values)}) / ${OUTPUTS} = ${full(rows.mean[row])}`
      : `σ²${of} = (${squares}) / ${divisor} = ${full(rows.variance[row])}`
  return {
    formula: (table === 'y' ? '' : example.why(row)) || formula,
    sources: [...range(OUTPUTS), ...(col === 'mean' ? [] : ['mean' as const])].map((col) => ({
      table,
      row,
      col,
    })),
  }
}
