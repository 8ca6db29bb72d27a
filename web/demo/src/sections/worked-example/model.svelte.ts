// Everything that "How it is computed" derives from its state, and its edits.

import { cubicInOut } from 'svelte/easing'
import { prefersReducedMotion, Tween } from 'svelte/motion'
import { exampleOutputs, INPUTS, SEED } from '../../example.ts'
import { EPS } from '../../example-slice.ts'
import { subscript } from '../../numbers.ts'
import { between, normalize } from '../../norm.ts'
import { exampleOf, type Example } from '../../example.svelte.ts'
import type { Page } from '../../page.svelte.ts'
import { print } from './compute.ts'
import { explain, key, type Place } from './explain.ts'
import { agreeing } from './printed.ts'
import type { Settings } from './slice.ts'
import { STEPS } from './steps.ts'
import { LOOKS, PRESETS, torchSays, why } from './words.ts'

const ID = 'worked-example'

const STEP_TIME = 900 // milliseconds of the slide, and of the stretch
const SYMBOLS: Record<string, string> = { gamma: 'γ', beta: 'β' }

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

export class WorkedExample {
  page: Page
  shared: Example
  /** The cell that the pointer is on. */
  hovered: Place | null = $state.raw(null)
  /** The cell that has the focus. */
  focused: Place | null = $state.raw(null)
  pointed = $derived(this.hovered ?? this.focused)
  /** How far the moving dots are on their way, from 0 to 1. */
  #part = new Tween(1, { easing: cubicInOut, duration: STEP_TIME })

  y = $derived.by(() => this.shared.y)
  moved = $derived.by(() => this.shared.moved)
  computed = $derived.by(() => this.shared.computed)
  settings: Settings = $derived.by(() => ({ ...this.shared.state, ...this.page.state[ID] }))
  /** Each row at each step. */
  result = $derived.by(() => this.shared.normalized)
  printed = $derived.by(() => print(this.settings, this.y, this.shared.cells))
  /** How many of PyTorch's 32 printed numbers are here. */
  agreeing = $derived(agreeing(this.result))

  /** The index of the shown step. */
  index = $derived(STEPS.findIndex(({ name }) => name === this.settings.step))
  step = $derived(STEPS[this.index])
  /** Whether the step knows the variance. */
  spread = $derived(this.index >= 2)
  /** The step's rows. */
  rows = $derived(this.result.map((row) => row[this.step.rows]))
  /** The step's rows, on their way from those of the step before. */
  moving = $derived.by(() => {
    const before = STEPS[Math.max(0, this.index - 1)].rows
    return this.result.map((row, r) =>
      between(row[before], this.rows[r], this.#part.current, this.shared.norm),
    )
  })

  constructor(page: Page) {
    this.page = page
    this.shared = exampleOf(page)
  }

  /** How the pointed number was computed, and the cells it depends on. */
  explained = $derived.by(() => (this.pointed ? explain(this.pointed, this) : null))
  #lit = $derived(new Set(this.explained?.sources.map(key)))

  /** A number that can be changed. */
  at = (table: 'x' | 'w' | 'g', row: number, col: number) => this.shared.cells[cellName(table, row, col)]

  /** The rows of a table whose numbers can be changed. */
  table = (table: 'x' | 'w' | 'g', rows: number, cols: number) =>
    Array.from({ length: rows }, (_, r) => ({
      values: Array.from({ length: cols }, (_, c) => this.at(table, r, c)),
    }))

  /** Why a row has no normalized numbers, or lost them; '' if it has. */
  why = (row: number) => why(row, this.result, this.settings.eps)

  goTo(step: Settings['step']) {
    this.hovered = null
    this.page.look(ID, { step })
    if (prefersReducedMotion.current) return
    this.#part.set(0, { duration: 0 })
    this.#part.target = 1
  }

  /** How a cell looks: 'pointed', 'lit' where the pointed one depends on it, or ''. */
  tone(place: Place) {
    const name = key(place)
    return this.pointed && key(this.pointed) === name ? 'pointed' : this.#lit.has(name) ? 'lit' : ''
  }

  // The presets' rows. Computed once, because PyTorch's first row takes draws of the generator.
  #presets = $derived.by(() => {
    const [base] = exampleOutputs()
    const names = Object.keys(PRESETS) as (keyof typeof PRESETS)[]
    return names.map((name) => ({ name, base, row: base.map(PRESETS[name]).map(Math.fround) }))
  })
  presets = $derived(
    this.#presets.map(({ name, row }) => ({
      name,
      on: row.every((value, c) => value === this.y[0][c]),
      choose: () => this.shared.move(0, row),
    })),
  )
  /** What to look at in the chosen preset. */
  look = $derived.by(() => {
    const chosen = this.#presets.find((_, i) => this.presets[i].on)
    if (!chosen) return ''
    const [base, row] = [chosen.base, chosen.row].map(
      (row) => normalize(row, this.shared.norm).divided.values,
    )
    return LOOKS[chosen.name](row, base)
  })
  /** What PyTorch's layer gives for the rows where that is something else; '' where it is the same. */
  torch = $derived.by(() => torchSays(this.result, this.settings))

  /** What differs from PyTorch's example. */
  changes = $derived.by(() => {
    const { seed, divisor, eps, edits } = this.settings
    return [
      ...['sample 1', 'sample 2'].filter((_, r) => this.moved[r]),
      ...Object.keys(edits).map(cellLabel),
      ...(seed === SEED ? [] : ['the seed']),
      ...(divisor === 'n' ? [] : ['the divisor']),
      ...(eps === EPS ? [] : ['ε']),
    ]
  })
}
