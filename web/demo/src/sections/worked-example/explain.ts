// Explains a number: how it was computed, with numbers, and the cells that it depends on.

import { calculation, term } from '../../calculation.ts'
import { INPUTS, OUTPUTS } from '../../example.ts'
import { cellText, exact, subscript, typeset } from '../../numbers.ts'
import type { WorkedExample } from './model.svelte.ts'

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

/** What an explanation reads of the example. */
export type Source = Pick<
  WorkedExample,
  'at' | 'computed' | 'moved' | 'result' | 'rows' | 'settings' | 'step' | 'why' | 'y'
>

type Explained = { formula: string; sources: Place[] }

export const key = ({ table, row, col }: Place) => `${table} ${row} ${col}`

const range = (n: number) => [...Array(n).keys()]
const cells = (table: Place['table'], rows: number[], cols: Place['col'][]): Place[] =>
  rows.flatMap((row) => cols.map((col) => ({ table, row, col })))
/** The row, or the number in it, as a subscript counted from 1. */
const index = (row: number, col?: number) => subscript(`${row + 1}${col === undefined ? '' : col + 1}`)

/**
 * A calculation with as many digits as it needs to work out.
 *
 * @param name what is computed, and its formula
 * @param write the formula with the operands' texts
 */
function equation(
  name: string,
  operands: readonly number[],
  calculate: (...operands: number[]) => number,
  value: number,
  write: (texts: string[]) => string,
) {
  const { operands: texts, equals, result } = calculation(operands, calculate, value)
  const left = `${name} = ${write(texts)}`
  if (Math.abs(value) === Infinity) return `${left} overflows float32, which ends at 3.4·10³⁸.`
  if (equals === '≈') return `${left}; the page computes ${result}`
  // Four decimals do not tell it from 0.
  const tiny = value !== 0 && Math.abs(value) < 5e-5
  return `${left} = ${result}${tiny ? `, in float32 ${typeset(value.toExponential(4))}` : ''}`
}

/** @returns null for a number that is not computed */
export function explain(place: Place, example: Source): Explained | null {
  const { table, row, col } = place
  if (col === 'mean' || col === 'variance') return summary(place, example)
  if (table === 'z' || table === 'y') return output(table, row, col, example)
  return table === 'n' ? normalized(row, col, example) : null
}

/** A number of the step's rows. */
function normalized(row: number, col: number, { at, result, rows, settings, step, why }: Source): Explained {
  const value = rows[row].values[col]
  const { values, mean, variance } = result[row].before
  const y = values[col]
  const [ij, i, j] = [index(row, col), index(row), subscript(String(col + 1))]
  if (step.rows === 'centered')
    return {
      formula: equation(
        `y${ij} − μ${i}`,
        [y, mean],
        (y, mean) => y - mean,
        value,
        ([y, mean]) => `${y} − ${term(mean)}`,
      ),
      sources: cells('y', [row], [col, 'mean']),
    }
  const { eps } = settings
  const scaled = step.rows === 'scaled'
  const [scale, shift] = scaled ? [at('g', 0, col), at('g', 1, col)] : [1, 0]
  const plain = scale === 1 && shift === 0
  const quotient = (y: string, mean: string, variance: string, plus: string) =>
    `(${y} − ${mean}) / √${eps ? `(${variance} + ${plus})` : variance}`
  const affine = (scale: string, quotient: string, shift: string) =>
    plain ? quotient : `${scale}·${quotient} + ${shift}`
  const symbols = quotient(`y${ij}`, `μ${i}`, `σ²${i}`, 'ε')
  const formula = equation(
    `ŷ${ij} = ${affine(`γ${j}`, symbols, `β${j}`)}`,
    [y, mean, variance, scale, shift],
    (y, mean, variance, scale, shift) => (scale * (y - mean)) / Math.sqrt(variance + eps) + shift,
    value,
    ([y, mean, variance, scale, shift]) =>
      affine(term(scale), quotient(y, term(mean), variance, exact(eps)), term(shift)),
  )
  return {
    formula: Number.isNaN(value) ? why(row) : formula,
    sources: [...cells('y', [row], [col, 'mean', 'variance']), ...cells('g', range(scaled ? 2 : 0), [col])],
  }
}

/** A number that Linear gives, or ReLU. */
function output(table: 'z' | 'y', row: number, col: number, { at, computed, moved, y }: Source): Explained {
  const [value, name] = [{ z: computed.z, y }[table][row][col], `${table}${index(row, col)}`]
  if (table === 'y' && moved[row])
    return { formula: `${name} = ${cellText(value)} was set, not computed.`, sources: [] }
  const inputs = range(INPUTS)
  const bound = (sum: number) => (table === 'z' ? sum : Math.max(0, sum))
  const formula = equation(
    name,
    [...inputs.flatMap((i) => [at('x', row, i), at('w', i, col)]), at('w', INPUTS, col)],
    (...numbers) =>
      bound(inputs.reduce((sum, i) => sum + numbers[2 * i] * numbers[2 * i + 1], numbers[2 * INPUTS])),
    value,
    (texts) => {
      const products = inputs.map((i) => `${(i ? term : String)(texts[2 * i])}·${term(texts[2 * i + 1])}`)
      const sum = [...products, term(texts[2 * INPUTS])].join(' + ')
      return table === 'z' ? sum : `max(0, ${sum})`
    },
  )
  return { formula, sources: [...cells('x', [row], inputs), ...cells('w', range(INPUTS + 1), [col])] }
}

/** A row's mean or variance. */
function summary({ table, row, col }: Place, { result, rows, settings, step, why }: Source): Explained {
  const { values, mean, variance } = table === 'y' ? result[row].before : rows[row]
  const of = table === 'y' ? index(row) : ` of ${step.rows === 'centered' ? '(y − μ)' : 'ŷ'}${index(row)}`
  const add = (numbers: number[]) => numbers.reduce((sum, number) => sum + number, 0)
  const unbiased = settings.divisor === 'n-1'
  const value = { mean, variance }[col as 'mean' | 'variance']
  const formula =
    col === 'mean'
      ? equation(
          `μ${of}`,
          values,
          (...numbers) => add(numbers) / OUTPUTS,
          value,
          (texts) => `(${texts.map((text, i) => (i ? term(text) : text)).join(' + ')}) / ${OUTPUTS}`,
        )
      : equation(
          `σ²${of}`,
          [...values, mean],
          (...numbers) => {
            const mean = numbers.pop() as number
            return add(numbers.map((number) => (number - mean) ** 2)) / (OUTPUTS - Number(unbiased))
          },
          value,
          (texts) => {
            const mean = term(texts.pop() as string)
            const squares = texts.map((text) => `(${text} − ${mean})²`).join(' + ')
            return `(${squares}) / ${unbiased ? `(${OUTPUTS} − 1)` : OUTPUTS}`
          },
        )
  return {
    formula: Number.isNaN(value) ? why(row) : formula,
    sources: cells(table, [row], col === 'mean' ? range(OUTPUTS) : [...range(OUTPUTS), 'mean']),
  }
}
