// Everything that the worked example derives from its state, and its edits.

import type { Gpt } from 'gpt-layers'
import { cubicInOut } from 'svelte/easing'
import { prefersReducedMotion, Tween } from 'svelte/motion'
import { cellText, fourDecimals, subscript } from '../../numbers.ts'
import type { Page } from '../../page.svelte.ts'
import {
  between,
  cellNames,
  compute,
  drawn,
  INPUTS,
  meanAlong,
  print,
  wayOf,
  type Result,
} from './compute.ts'
import { explain, key, type Place } from './explain.ts'
import { PRESETS } from './presets.ts'
import { LAYER_NORM, PRINTED, SEED } from './pytorch.ts'
import type { Settings } from './slice.ts'
import { stepsOf, type StepName } from './steps.ts'

export const ID = 'worked-example'

const STEP_TIME = 900 // milliseconds of the slide, and of the stretch
const SYMBOLS = { x: 'x', w: 'w', b: 'b', gamma: 'γ', beta: 'β' }
const batchNames = cellNames('x')
/** The steps on which the dots move. */
const MOVING: readonly StepName[] = ['subtract', 'divide']

/** @returns the rows that a step shows */
const rowsAt = (name: StepName): 'centered' | 'divided' | 'scaled' =>
  name === 'subtract' ? 'centered' : name === 'divide' ? 'divided' : 'scaled'

/** @param name of a cell, such as x12 @returns x₁₂ */
export function cellLabel(name: string): string {
  const [, table, digits] = /^([a-z]+)(\d+)$/.exec(name) as RegExpExecArray
  return SYMBOLS[table as keyof typeof SYMBOLS] + subscript(digits)
}

/** @returns its name */
export function cellName(table: 'x' | 'w' | 'g', row: number, col: number): string {
  if (table === 'g') return `${row === 0 ? 'gamma' : 'beta'}${col + 1}`
  if (table === 'w') return row < INPUTS ? `w${col + 1}${row + 1}` : `b${col + 1}`
  return batchNames[row * INPUTS + col]
}

export class Example {
  /** The cell that the pointer is on. */
  hovered: Place | null = $state.raw(null)
  /** The cell that has the focus. */
  focused: Place | null = $state.raw(null)
  pointed = $derived(this.hovered ?? this.focused)
  /** How far the moving dots are on their way, from 0 to 1. */
  #way = new Tween(1, { easing: cubicInOut, duration: STEP_TIME })

  page: Page
  #gpt: Gpt
  settings: Settings = $derived.by(() => this.page.state[ID])
  #seed = $derived(this.settings.seed)
  #unbiased = $derived(this.settings.unbiased)
  #eps = $derived(this.settings.eps)
  #edits = $derived(this.settings.edits)
  #drawn = $derived.by(() => drawn(this.#gpt, this.#seed))
  /** Every number that can be changed, by its name. */
  cells = $derived({ ...this.#drawn, ...this.#edits })
  // Only of what the numbers depend on, so that another step computes nothing.
  result = $derived.by(() => {
    const way = { unbiased: this.#unbiased, eps: this.#eps }
    return compute(this.#gpt, way, this.cells)
  })
  way = $derived(wayOf({ unbiased: this.#unbiased, eps: this.#eps }))
  /** How many of PyTorch's 32 printed numbers are here. */
  agreeing = $derived.by(() => agreeing(PRINTED[this.way === 'byHand' ? 'byHand' : 'layerNorm'], this.result))
  printed = $derived.by(() => print(this.#gpt, this.settings, this.cells))
  /** The mean along the chosen dimension. */
  along = $derived.by(() => meanAlong(this.#gpt, this.settings, this.cells))

  steps = $derived(stepsOf({ unbiased: this.#unbiased }))
  /** The index of the shown step. */
  at = $derived(this.steps.findIndex(({ name }) => name === this.settings.step))
  step = $derived(this.steps[this.at])
  /** The step's rows, and those that it begins with. */
  now = $derived(rowsAt(this.step.name))
  before = $derived(
    this.now === 'centered'
      ? this.result.outputs
      : this.now === 'divided'
        ? this.result.centered
        : this.result.divided,
  )
  /** The step's rows, on their way. */
  moving = $derived.by(() =>
    between(this.#gpt, this.before, this.result[this.now], this.#way.current, this.#unbiased),
  )

  /** How the pointed number was computed, and the cells it depends on. */
  explained = $derived.by(() => {
    if (!this.pointed) return null
    return explain(this.pointed, {
      settings: this.settings,
      result: this.result,
      at: (table, row, col) => this.cells[cellName(table, row, col)],
      now: this.now,
      why: (row) => this.why(row),
    })
  })
  // Joined to a string, which stays equal while the cells stay the same; otherwise every edit would update
  // every cell.
  #sources = $derived(this.explained ? [...this.explained.sources].join(';') : '')
  #lit = $derived(new Set(this.#sources.split(';')))

  constructor(page: Page, gpt: Gpt) {
    this.page = page
    this.#gpt = gpt
  }

  /** Whether the step's dots can be watched moving. */
  moves = $derived(!prefersReducedMotion.current && MOVING.includes(this.step.name))

  /** @param step to show */
  goTo(step: StepName) {
    this.hovered = null
    this.page.look(ID, { step })
    this.#way.set(this.moves ? 0 : 1, { duration: 0 })
    if (this.moves) this.#way.target = 1
  }

  /** How a cell looks: 'pointed', 'lit' where the pointed one depends on it, or ''. */
  tone(place: Place) {
    const name = key(place)
    return this.pointed && key(this.pointed) === name ? 'pointed' : this.#lit.has(name) ? 'lit' : ''
  }

  /** Why a row has no normalized numbers; '' if it has. */
  why(row: number) {
    const { outputs, scaled, byHand } = this.result
    const compares = this.step.name === 'compare'
    if ((compares ? byHand : scaled).values[row].every(Number.isFinite)) return ''
    if (outputs.variance[row] === 0 && (compares || this.#eps === 0)) {
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

  /** @returns everything but the views */
  #preset({ change }: (typeof PRESETS)[number]): Partial<Settings> {
    const before = drawn(this.#gpt, SEED)
    const edits = Object.entries(change).map(([name, to]) => [name, Math.fround(to(before[name]))])
    return { seed: SEED, ...LAYER_NORM, edits: Object.fromEntries(edits) }
  }
  /** The settings of each preset; computed once, because the generator draws for it. */
  #presets = $derived.by(() => PRESETS.map((preset) => ({ ...preset, settings: this.#preset(preset) })))
  presets = $derived(
    this.#presets.map(({ name, look, settings }) => ({
      name,
      look,
      on: same(settings, this.settings),
      choose: () => this.page.edit(ID, settings),
    })),
  )

  /** What differs from PyTorch's example, as ends of the sentence "You changed ...". */
  changes = $derived.by(() => {
    const { seed, unbiased, eps, edits } = this.settings
    const changes: string[] = []
    if (seed !== SEED) changes.push(`the seed from ${SEED} to ${seed}`)
    if (this.way === 'other' && unbiased !== LAYER_NORM.unbiased)
      changes.push('the divisor of the variance from n to n − 1')
    if (this.way === 'other' && eps !== LAYER_NORM.eps) changes.push(`ε from ${LAYER_NORM.eps} to ${eps}`)
    for (const [name, value] of Object.entries(edits))
      changes.push(`${cellLabel(name)} from ${cellText(this.#drawn[name])} to ${cellText(value)}`)
    return changes
  })

  /**
   * @param name of a cell
   * @param value rounded to float32
   */
  edit(name: string, value: number) {
    const rounded = Math.fround(value)
    const { [name]: _, ...others } = this.#edits
    this.change({ edits: rounded === this.#drawn[name] ? others : { ...this.#edits, [name]: rounded } })
  }

  change(settings: Partial<Settings>) {
    this.page.edit(ID, settings)
  }

  /** Brings the example's numbers back; the way to normalize only if it is neither of the two. */
  putBack() {
    this.change({ seed: SEED, edits: {}, ...(this.way === 'other' ? LAYER_NORM : {}) })
  }
}

/** @returns whether `whole` has all of `part` */
const same = (part: Partial<Settings>, whole: Settings): boolean =>
  JSON.stringify({ ...whole, ...part }) === JSON.stringify(whole)

/** @returns how many of the printed numbers the result has, to four decimals */
function agreeing(printed: typeof PRINTED.layerNorm, { outputs, scaled }: Result): number {
  const shown = {
    outputs: outputs.values,
    mean: outputs.mean,
    variance: outputs.variance,
    normalized: scaled.values,
    normalizedMean: scaled.mean,
    normalizedVariance: scaled.variance,
  }
  return Object.entries(printed).reduce((sum, [name, texts]) => {
    const values = shown[name as keyof typeof shown].flat()
    return sum + texts.flat().filter((text, i) => fourDecimals(values[i]) === text).length
  }, 0)
}
