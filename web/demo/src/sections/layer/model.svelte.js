// What follows from section 1's state, and its edits.

/** @import { Gpt } from 'gpt-layers' */
/** @import { Page } from '../../page.svelte.js' */
/** @import { Settings } from './slice.js' */

import { cellText, fourDecimals, subscript } from '../../numbers.js'
import { compute, drawn } from './compute.js'
import { NOTEBOOK_PRINTED, NOTEBOOK_SEED, NOTEBOOK_SETTINGS } from './notebook.js'
import { notebookSettings } from './slice.js'

const SYMBOLS = { x: 'x', w: 'w', b: 'b', gamma: 'γ', beta: 'β' }

const divisor = (/** @type {boolean} */ unbiased) => (unbiased ? 'n − 1' : 'n')

/** @param {string} name of a cell, such as x12 @returns {string} x₁₂ */
export function cellLabel(name) {
  const [, table, digits] = /** @type {RegExpExecArray} */ (/^([a-z]+)(\d+)$/.exec(name))
  return SYMBOLS[/** @type {keyof typeof SYMBOLS} */ (table)] + subscript(digits)
}

export class Layer {
  /** The feature pointed at, in the tables or on the number lines. @type {{ row: number, col: number } | null} */
  pointed = $state(null)

  /** @type {Page} */ page
  /** @type {Gpt} */ #gpt
  /** @type {Settings} */
  settings = $derived.by(() => this.page.state.layer)
  #seed = $derived(this.settings.seed)
  #target = $derived(this.settings.target)
  #drawn = $derived.by(() => drawn(this.#gpt, this.#seed, this.#target))
  /** Every editable number by its name. */
  cells = $derived({ ...this.#drawn, ...this.settings.edits })
  result = $derived.by(() => compute(this.#gpt, this.settings, this.cells))
  comparison = $derived.by(() => compare(this.settings.target, this.result))

  /**
   * @param {Page} page
   * @param {Gpt} gpt
   */
  constructor(page, gpt) {
    this.page = page
    this.#gpt = gpt
  }

  /** What differs from the notebook, each with a way back. */
  get changes() {
    const { seed, target, unbiased, eps, edits } = this.settings
    const notebook = NOTEBOOK_SETTINGS[target]
    /** @type {{ name: string, text: string, undo: () => void }[]} */
    const changes = []
    if (seed !== NOTEBOOK_SEED) {
      const text = `the seed to ${seed}; the notebook has ${NOTEBOOK_SEED}`
      changes.push({ name: 'seed', text, undo: () => this.change({ seed: NOTEBOOK_SEED }) })
    }
    if (unbiased !== notebook.unbiased) {
      const text = `the variance’s divisor to ${divisor(unbiased)}; the notebook has ${divisor(notebook.unbiased)}`
      changes.push({ name: 'variance', text, undo: () => this.change({ unbiased: notebook.unbiased }) })
    }
    if (eps !== notebook.eps) {
      const text = `ε to ${eps}; the notebook has ${notebook.eps}`
      changes.push({ name: 'eps', text, undo: () => this.change({ eps: notebook.eps }) })
    }
    const whose = seed === NOTEBOOK_SEED ? 'the notebook has' : 'the seed drew'
    for (const [name, value] of Object.entries(edits)) {
      const text = `${cellLabel(name)} to ${cellText(value)}; ${whose} ${cellText(this.#drawn[name])}`
      changes.push({ name, text, undo: () => this.edit(name, this.#drawn[name]) })
    }
    return changes
  }

  /**
   * @param {string} name of a cell
   * @param {number} value rounded to float32
   */
  edit(name, value) {
    const rounded = Math.fround(value)
    const { [name]: _, ...others } = this.settings.edits
    this.page.edit('layer', { edits: rounded === this.#drawn[name] ? others : { ...this.settings.edits, [name]: rounded } })
  }

  /**
   * Changes settings. Another tensor to normalise brings the settings the notebook normalises it with, and drops the
   * edits of scale and shift, which are as many as that tensor is wide.
   *
   * @param {Partial<Settings>} settings
   */
  change(settings) {
    const { target = this.settings.target } = settings
    if (target === this.settings.target) return this.page.edit('layer', settings)
    const edits = Object.entries(this.settings.edits).filter(([name]) => !/^(gamma|beta)/.test(name))
    this.page.edit('layer', { ...NOTEBOOK_SETTINGS[target], edits: Object.fromEntries(edits), ...settings })
  }

  /** Back to the notebook, whatever was changed. */
  reset() {
    this.page.edit('layer', notebookSettings(this.settings.target))
  }
}

/**
 * Counts how many of the numbers the notebook prints are the ones shown, to its four decimals.
 *
 * @param {'outputs' | 'batch'} target
 * @param {import('./compute.js').Result} result
 * @returns {{ equal: number, total: number }}
 */
function compare(target, { before, after }) {
  const column = (/** @type {number[]} */ values) => values.map((value) => [value])
  /** @type {Record<string, number[][]>} */
  const shown = {
    out: before.values,
    mean: column(before.mean),
    variance: column(before.variance),
    normalised: after.values,
    normalisedMean: column(after.mean),
    normalisedVariance: column(after.variance),
  }
  let equal = 0
  let total = 0
  for (const [name, printed] of Object.entries(NOTEBOOK_PRINTED[target])) {
    printed.forEach((row, r) =>
      row.forEach((text, c) => {
        total++
        if (fourDecimals(shown[name][r][c]) === text) equal++
      }),
    )
  }
  return { equal, total }
}
