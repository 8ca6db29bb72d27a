// Everything that "How it is computed" derives from its state, and its edits.

import { cubicInOut } from 'svelte/easing'
import { prefersReducedMotion, Tween } from 'svelte/motion'
import { agreeing, cellNames, drawn, INPUTS, SEED } from '../../example.ts'
import { cellText, subscript } from '../../numbers.ts'
import { Rows } from '../../rows.svelte.ts'
import { between, compute, meanAlong, print } from './compute.ts'
import { explain, key, type Place } from './explain.ts'
import { EPS } from '../../example-slice.ts'
import type { Settings } from './steps.ts'
import { STEPS } from './steps.ts'

export const ID = 'worked-example'

const STEP_TIME = 900 // milliseconds of the slide, and of the stretch
const SYMBOLS: Record<string, string> = { gamma: 'γ', beta: 'β' }
const NEAR_10000 = 10000
const biases = cellNames('b')

/**
 * Examples to choose, each with a hint what to look at. All go through the same layer, so that every number
 * keeps its place.
 */
const PRESETS: { name: string; look: string; change: Record<string, (value: number) => number> }[] = [
  { name: 'PyTorch’s example', look: '', change: {} },
  {
    name: 'an outlier',
    change: { b3: () => 30 },
    look:
      'The third bias is 30. That one number takes nearly all of the variance: it ends near 2.2, and the ' +
      'other five are pressed together near −0.45.',
  },
  {
    name: 'a constant row',
    change: Object.fromEntries([
      ...cellNames('x')
        .slice(0, INPUTS)
        .map((name) => [name, () => 0]),
      ...biases.map((name) => [name, () => 0.5]),
    ]),
    look:
      'Sample 1 is all zeros and every bias is 0.5, so its six outputs are equal. Their variance is 0, and ' +
      'only ε keeps the division from being 0/0.',
  },
  {
    name: 'a large offset',
    change: Object.fromEntries(biases.map((name) => [name, (value: number) => value + NEAR_10000])),
    look:
      'Every bias is 10,000 larger, and the mean takes it away again. But near 10,000, float32 values are ' +
      '0.001 apart, so the normalized numbers are off in their third decimal.',
  },
]

/** @param name of a cell, such as x12 @returns x₁₂ */
export function cellLabel(name: string): string {
  const [, table, digits] = /^([a-z]+)(\d+)$/.exec(name) as RegExpExecArray
  return (SYMBOLS[table] ?? table) + subscript(digits)
}

/** @returns its name */
export function cellName(table: 'x' | 'w' | 'g', row: number, col: number): string {
  if (table === 'g') return `${row === 0 ? 'gamma' : 'beta'}${col + 1}`
  if (table === 'x') return `x${row + 1}${col + 1}`
  return row < INPUTS ? `w${col + 1}${row + 1}` : `b${col + 1}`
}

export class Example extends Rows {
  /** The cell that the pointer is on. */
  hovered: Place | null = $state.raw(null)
  /** The cell that has the focus. */
  focused: Place | null = $state.raw(null)
  pointed = $derived(this.hovered ?? this.focused)
  /** How far the moving dots are on their way, from 0 to 1. */
  #part = new Tween(1, { easing: cubicInOut, duration: STEP_TIME })

  settings: Settings = $derived.by(() => ({ ...this.example, ...this.page.state[ID] }))
  #divisor = $derived(this.settings.divisor)
  #eps = $derived(this.settings.eps)
  #way = $derived({ divisor: this.#divisor, eps: this.#eps })
  // Only of what the numbers depend on, so that another step computes nothing.
  result = $derived.by(() => compute(this.gpt, this.#way, this.y, this.cells))
  printed = $derived.by(() => print(this.gpt, this.settings, this.y, this.cells))
  /** The mean along the chosen dimension. */
  along = $derived.by(() => meanAlong(this.gpt, this.settings, this.y))
  /** How many of PyTorch's 32 printed numbers are here. */
  agreeing = $derived.by(() => {
    const { outputs, scaled } = this.result
    return agreeing({
      outputs: outputs.values,
      mean: outputs.mean,
      variance: outputs.variance,
      normalized: scaled.values,
      normalizedMean: scaled.mean,
      normalizedVariance: scaled.variance,
    })
  })

  /** The index of the shown step. */
  index = $derived(STEPS.findIndex(({ name }) => name === this.settings.step))
  step = $derived(STEPS[this.index])
  /** The step's rows. */
  rows = $derived(this.result[this.step.rows])
  /** The step's rows, on their way from those of the step before. */
  moving = $derived.by(() => {
    const from = this.result[STEPS[Math.max(0, this.index - 1)].rows]
    return between(this.gpt, from, this.rows, this.#part.current, this.#way)
  })
  /** Whether the step's dots can be watched moving. */
  moves = $derived(!prefersReducedMotion.current && this.step.moves)

  /** How the pointed number was computed, and the cells it depends on. */
  explained = $derived.by(() => (this.pointed ? explain(this.pointed, this) : null))
  // Joined to a string, which stays equal while the cells stay the same; otherwise every edit would update
  // every cell.
  #sources = $derived(this.explained ? this.explained.sources.map(key).join(';') : '')
  #lit = $derived(new Set(this.#sources.split(';')))

  /** A number that can be changed. */
  at = (table: 'x' | 'w' | 'g', row: number, col: number) => this.cells[cellName(table, row, col)]

  goTo(step: Settings['step']) {
    this.hovered = null
    this.page.look(ID, { step })
    this.#part.set(this.moves ? 0 : 1, { duration: 0 })
    if (this.moves) this.#part.target = 1
  }

  /** How a cell looks: 'pointed', 'lit' where the pointed one depends on it, or ''. */
  tone(place: Place) {
    const name = key(place)
    return this.pointed && key(this.pointed) === name ? 'pointed' : this.#lit.has(name) ? 'lit' : ''
  }

  /** Why a row has no normalized numbers; '' if it has. */
  why(row: number) {
    const { outputs, scaled } = this.result
    if (scaled.values[row].every(Number.isFinite)) return ''
    if (outputs.variance[row] === 0 && this.#eps === 0) {
      return (
        `All numbers of row ${row + 1} are the same, so its variance is 0. With ε = 0 the row would be 0/0. ` +
        'That is what ε is for: with ε = 0.00001 the row becomes zeros.'
      )
    }
    return (
      `Row ${row + 1} is too large: float32 ends at 3.4·10³⁸, and a square or a sum on the way is larger ` +
      'than that.'
    )
  }

  /** The edits of each preset; computed once, because the generator draws for them. */
  #presets = $derived.by(() => {
    const before = drawn(this.gpt, SEED)
    return PRESETS.map(({ name, look, change }) => {
      const edits = Object.entries(change).map(([cell, to]) => [cell, Math.fround(to(before[cell]))])
      return { name, look, edits: Object.fromEntries(edits) as Settings['edits'] }
    })
  })
  #usual = $derived(
    this.settings.seed === SEED && this.#divisor === 'n' && this.#eps === EPS && !this.moved.includes(true),
  )
  presets = $derived(
    this.#presets.map(({ name, look, edits }) => ({
      name,
      look,
      on: this.#usual && same(edits, this.settings.edits),
      choose: () => {
        this.page.reset(ID)
        this.page.edit('example', { edits })
      },
    })),
  )

  /** What differs from PyTorch's example, as ends of the sentence "You changed ...". */
  changes = $derived.by(() => {
    const { seed, divisor, eps, edits } = this.settings
    const changes: string[] = []
    if (seed !== SEED) changes.push(`the seed from ${SEED} to ${seed}`)
    if (divisor === 'n-1') changes.push('the divisor of the variance from n to n − 1')
    if (eps !== EPS) changes.push(`ε from ${EPS} to ${eps}`)
    const from = (name: string, was: number, is: number) =>
      changes.push(`${cellLabel(name)} from ${cellText(was)} to ${cellText(is)}`)
    for (const [name, value] of Object.entries(edits)) from(name, this.drawn[name], value)
    this.y.forEach((row, r) =>
      row.forEach((value, c) => {
        const was = this.computed.y[r][c]
        if (this.moved[r] && value !== was) from(`y${r + 1}${c + 1}`, was, value)
      }),
    )
    return changes
  })
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
