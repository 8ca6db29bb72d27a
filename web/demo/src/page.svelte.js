// The page's state has its one home here: settings and edits, what follows from them, and how both go into the URL.

/** @import { Gpt } from 'gpt-layers' */

import { flushSync } from 'svelte'
import { compute, drawn } from './compute.js'
import { NOTEBOOK_PRINTED, NOTEBOOK_SEED, NOTEBOOK_SETTINGS } from './notebook.js'
import { cellText, fourDecimals, parseNumber, shortest, subscript } from './numbers.js'

/**
 * @typedef {object} Settings
 * @property {number} seed of the batch and the layer
 * @property {'outputs' | 'batch'} target what is normalised: the layer's outputs (cells 2 to 4), or the batch (cell 7)
 * @property {boolean} unbiased whether the variance is divided by n - 1
 * @property {number} eps added to the variance
 */

const MAX_SEED = 2 ** 32 - 1
const SYMBOLS = { x: 'x', w: 'w', b: 'b', gamma: 'γ', beta: 'β' }

const divisor = (/** @type {boolean} */ unbiased) => (unbiased ? 'n − 1' : 'n')

/** @param {string} name of a cell, such as x12 @returns {string} x₁₂ */
export function cellLabel(name) {
  const [, table, digits] = /** @type {RegExpExecArray} */ (/^([a-z]+)(\d+)$/.exec(name))
  return SYMBOLS[/** @type {keyof typeof SYMBOLS} */ (table)] + subscript(digits)
}

export class Page {
  /** @type {Settings} */
  settings = $state({ seed: NOTEBOOK_SEED, target: 'outputs', ...NOTEBOOK_SETTINGS.outputs })
  /** What was edited, by cell name. @type {Record<string, number>} */
  edits = $state({})
  /** The feature pointed at, in the tables or on the number lines. @type {{ row: number, col: number } | null} */
  pointed = $state(null)
  /** What is wrong with what was typed, or with the URL; '' when nothing is. */
  problem = $state('')
  /** How long the last update took, event to document, in milliseconds. */
  updateTime = $state(0)

  /** @type {Gpt} */ #gpt
  #drawn = $derived.by(() => drawn(this.#gpt, this.settings.seed, this.settings.target))
  /** Every editable number by its name. */
  cells = $derived({ ...this.#drawn, ...this.edits })
  result = $derived.by(() => compute(this.#gpt, this.settings, this.cells))
  comparison = $derived.by(() => compare(this.settings.target, this.result))

  /**
   * @param {Gpt} gpt
   * @param {URLSearchParams} query
   */
  constructor(gpt, query) {
    this.#gpt = gpt
    this.#read(query)
  }

  /** What differs from the notebook, each with a way back. */
  get changes() {
    const { seed, target, unbiased, eps } = this.settings
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
    for (const [name, value] of Object.entries(this.edits)) {
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
    this.#update(() => {
      const rounded = Math.fround(value)
      if (rounded === this.#drawn[name]) delete this.edits[name]
      else this.edits[name] = rounded
    })
  }

  /**
   * Changes settings. Another tensor to normalise brings the settings the notebook normalises it with, and drops the
   * edits of scale and shift, which are as many as that tensor is wide.
   *
   * @param {Partial<Settings>} settings
   */
  change(settings) {
    this.#update(() => {
      if (settings.target && settings.target !== this.settings.target) {
        Object.assign(this.settings, NOTEBOOK_SETTINGS[settings.target])
        for (const name of Object.keys(this.edits)) if (/^(gamma|beta)/.test(name)) delete this.edits[name]
      }
      Object.assign(this.settings, settings)
    })
  }

  /** Back to the notebook, whatever was changed. */
  reset() {
    this.#update(() => {
      this.settings = { seed: NOTEBOOK_SEED, target: this.settings.target, ...NOTEBOOK_SETTINGS[this.settings.target] }
      this.edits = {}
    })
  }

  /** The state as a query: only what differs from the notebook. @returns {string} '' or '?...' */
  get query() {
    const { seed, target, unbiased, eps } = this.settings
    const notebook = NOTEBOOK_SETTINGS[target]
    const query = new URLSearchParams()
    if (target !== 'outputs') query.set('normalise', target)
    if (seed !== NOTEBOOK_SEED) query.set('seed', String(seed))
    if (unbiased !== notebook.unbiased) query.set('variance', unbiased ? 'unbiased' : 'biased')
    if (eps !== notebook.eps) query.set('eps', String(eps))
    for (const [name, value] of Object.entries(this.edits)) query.set(name, shortest(value))
    const text = query.toString()
    return text && `?${text}`
  }

  /**
   * Sets the state a query describes. What it does not understand it names in `problem`, and leaves as it is.
   *
   * @param {URLSearchParams} query
   */
  #read(query) {
    const bad = []
    const target = query.get('normalise') ?? 'outputs'
    if (target === 'batch') this.settings = { ...this.settings, target, ...NOTEBOOK_SETTINGS.batch }
    else if (target !== 'outputs') bad.push(`normalise=${target}`)
    for (const [name, text] of query) {
      if (name === 'normalise') continue
      if (name === 'seed' && isSeed(text)) this.settings.seed = Number(text)
      else if (name === 'variance' && /^(un)?biased$/.test(text)) this.settings.unbiased = text === 'unbiased'
      else if (name === 'eps' && isEps(Number(text)) && text.trim()) this.settings.eps = Number(text)
      else if (name in this.#drawn && parseNumber(text) !== null) continue
      else bad.push(`${name}=${text}`)
    }
    for (const [name, text] of query) {
      const value = parseNumber(text)
      if (name in this.#drawn && value !== null && value !== this.#drawn[name]) this.edits[name] = value
    }
    if (bad.length) this.problem = `The address has ${bad.join(', ')}, which means nothing here and was left out.`
  }

  /** Changes the state and lets the document follow at once, in this very frame. @param {() => void} change */
  #update(change) {
    const start = performance.now()
    flushSync(() => {
      change()
      this.problem = ''
    })
    this.updateTime = performance.now() - start
  }
}

/** @param {string} text @returns {boolean} */
export function isSeed(text) {
  return /^\d+$/.test(text) && Number(text) <= MAX_SEED
}

/** @param {number} eps @returns {boolean} */
export function isEps(eps) {
  return eps >= 0 && eps <= 1e6
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
