// Everything that section 1 derives from its state, and its edits.

/** @import { Gpt } from 'gpt-layers' */
/** @import { Page } from '../../page.svelte.js' */
/** @import { Settings } from './slice.js' */

import { cellText, fourDecimals, subscript } from '../../numbers.js'
import { BATCHES, cellNames, compute, drawn, meanAlong, print, tableShapes } from './compute.js'
import { explain, key } from './explain.js'
import { NOTEBOOK_PRINTED, NOTEBOOK_SEED, notebookSettings } from './notebook.js'
import { PRESETS } from './presets.js'
import { stepsOf } from './steps.js'

/** @import { Place } from './explain.js' */

const SYMBOLS = { x: 'x', w: 'w', b: 'b', gamma: 'γ', beta: 'β' }

const divisor = (/** @type {boolean} */ unbiased) => (unbiased ? 'n − 1' : 'n')

/** @param {string} name of a cell, such as x12 or x1.10.3 @returns {string} x₁₂, or x₁,₁₀,₃ */
export function cellLabel(name) {
  const [, table, digits] = /** @type {RegExpExecArray} */ (/^([a-z]+)([\d.]+)$/.exec(name))
  return SYMBOLS[/** @type {keyof typeof SYMBOLS} */ (table)] + subscript(digits.replaceAll('.', ','))
}

export class Layer {
  /** The cell that the pointer is on. @type {Place | null} */
  hovered = $state(null)
  /** The cell that has the focus. @type {Place | null} */
  focused = $state(null)
  pointed = $derived(this.hovered ?? this.focused)
  /** The row last pointed at: of a batch of many, the number lines show it and its neighbour. */
  row = $state(0)

  /** @type {Page} */ page
  /** @type {Gpt} */ #gpt
  /** @type {Settings} */
  settings = $derived.by(() => this.page.state['worked-example'])
  #seed = $derived(this.settings.seed)
  #data = $derived(this.settings.data)
  #target = $derived(this.settings.target)
  #unbiased = $derived(this.settings.unbiased)
  #eps = $derived(this.settings.eps)
  #edits = $derived(this.settings.edits)
  /** Only the settings that the numbers depend on, so that a view change computes nothing. */
  #numeric = $derived({ data: this.#data, target: this.#target, unbiased: this.#unbiased, eps: this.#eps })
  #drawn = $derived.by(() => drawn(this.#gpt, { seed: this.#seed, data: this.#data, target: this.#target }))
  /** Every editable number by its name. */
  cells = $derived({ ...this.#drawn, ...this.#edits })
  result = $derived.by(() => compute(this.#gpt, /** @type {Settings} */ (this.#numeric), this.cells))
  comparison = $derived.by(() => compare(this.#data, this.#target, this.result))
  printed = $derived.by(() => print(this.#gpt, this.settings, this.cells))
  /** The mean along the axis chosen in the "print" panel. */
  along = $derived.by(() => meanAlong(this.#gpt, { ...this.settings, dim: this.dim }, this.cells))

  shapes = $derived(tableShapes(this.#numeric))
  width = $derived(this.shapes.gamma[0])
  #batchNames = $derived(cellNames('x', this.shapes.x))
  linear = $derived(this.#target === 'outputs')
  /** The shown rows: all of the batch, or those of one of its tables. */
  shown = $derived.by(() => {
    const [rows] = BATCHES[this.#data].shape.slice(-2)
    return { rows, from: BATCHES[this.#data].shape.length > 2 ? (this.settings.block - 1) * rows : 0 }
  })
  /** The chosen axis, or -1 if this batch does not have it. */
  dim = $derived.by(() => {
    const { dim } = this.settings
    const axes = this.shapes.x.length
    return dim >= -axes && dim < axes ? dim : -1
  })
  /** The rows on the number lines, two at most. */
  journeys = $derived.by(() => {
    const { rows, from } = this.shown
    const first =
      rows > 2 ? from + 2 * Math.floor(Math.min(Math.max(this.row - from, 0), rows - 1) / 2) : from
    return Array.from({ length: Math.min(2, rows) }, (_, i) => first + i)
  })

  steps = $derived(
    stepsOf(this.settings, { rows: this.shown.rows, inputs: this.shapes.x.at(-1) ?? 0, width: this.width }),
  )
  /** The step shown, from 0; all of them past the last. */
  at = $derived.by(() => {
    const found = this.steps.findIndex(({ name }) => name === this.settings.step)
    return found < 0 ? this.steps.length : found
  })
  /** The step that the normalized table shows. */
  now = $derived(
    this.is('subtract') ? this.result.centred : this.is('divide') ? this.result.divided : this.result.after,
  )
  /** The pointed cell's formula, and the cells it comes from. */
  explained = $derived.by(() => {
    if (!this.pointed) return null
    return explain(this.pointed, {
      settings: this.settings,
      result: this.result,
      at: (table, row, col) => this.cells[this.cellName({ table, row, col })],
      index: (row, col) => this.index(row, col),
      now: this.now,
      raw: this.is('linear'),
      why: (row) => this.why(row),
    })
  })

  // Joined to a string, which stays equal while the cells stay the same; otherwise every edit would update
  // every cell.
  #sources = $derived(this.explained ? [...this.explained.sources].join(';') : '')
  #tones = $derived.by(() => {
    const tones = new Map(this.#sources.split(';').map((source) => [source, 'lit']))
    const { pointed } = this
    const before = this.linear ? 'y' : 'x'
    if (pointed) tones.set(key(pointed), 'pointed')
    if (pointed && typeof pointed.col === 'number' && (pointed.table === before || pointed.table === 'n')) {
      // The same feature before and after.
      for (const table of /** @type {const} */ ([before, 'n']))
        tones.set(key({ ...pointed, table }), 'pointed')
    }
    return tones
  })

  /**
   * @param {Page} page
   * @param {Gpt} gpt
   */
  constructor(page, gpt) {
    this.page = page
    this.#gpt = gpt
  }

  /** @param {string} step @returns {boolean} whether it is this step that is shown */
  is(step) {
    return this.steps[this.at]?.name === step
  }

  /** @param {string} step @returns {boolean} whether the figure has come as far as this step */
  reached(step) {
    return this.steps.findIndex(({ name }) => name === step) <= this.at
  }

  /** @param {number} at the step to show, from 0; past the last, all */
  goTo(at) {
    const step = this.steps[Math.max(0, at)]?.name ?? 'all'
    if (step !== this.settings.step) this.page.look('worked-example', { step })
  }

  /** @param {Place | null} place @param {'hovered' | 'focused'} how */
  point(place, how) {
    this[how] = place
    if (place && 'xyn'.includes(place.table)) this.row = place.row
  }

  /**
   * @param {number} row
   * @param {number} col
   * @returns {boolean} whether this feature is pointed at, before or after
   */
  isPointed(row, col) {
    return this.tone({ table: 'n', row, col }) === 'pointed'
  }

  /** How a cell looks: 'pointed', 'lit' where the pointed one comes from it, or ''. @param {Place} place */
  tone(place) {
    return this.#tones.get(key(place)) ?? ''
  }

  /** @param {Place} place in a table of numbers to be changed @returns {string} its cell's name */
  cellName({ table, row, col }) {
    if (table === 'g') return `${row === 0 ? 'gamma' : 'beta'}${Number(col) + 1}`
    const inputs = this.shapes.x.at(-1) ?? 0
    if (table === 'w') return row < inputs ? `w${Number(col) + 1}${row + 1}` : `b${Number(col) + 1}`
    return this.#batchNames[row * inputs + Number(col)]
  }

  /** @param {number} row @param {number} [col] @returns {string} as a subscript, counted from 1 */
  index(row, col) {
    const { rows, from } = this.shown
    const many = this.shapes.x.length > 2
    const parts = [
      ...(many ? [from / rows + 1, row - from + 1] : [row + 1]),
      ...(col === undefined ? [] : [col + 1]),
    ]
    return subscript(parts.join(many ? ',' : ''))
  }

  /** Why a row has no normalized numbers; '' if it has. @param {number} row */
  why(row) {
    const { before, after } = this.result
    if (after.values[row].every(Number.isFinite)) return ''
    if (before.variance[row] === 0 && this.#eps === 0) {
      return (
        'All values of this row are the same, so its variance is 0, and with ε = 0 the last step would divide 0 by 0. ' +
        'That is what ε is for: make it 0.00001, and the row becomes zeros.'
      )
    }
    return 'This row’s numbers are too large: a float32 ends at 3.4·10³⁸, and a square or a sum on the way is past it.'
  }

  /** The settings of each preset; computed once, because the generator draws for it. */
  #presets = $derived.by(() => PRESETS.map((preset) => ({ preset, settings: this.#preset(preset) })))
  /** The presets; `on`: whether it is shown. */
  presets = $derived(
    this.#presets.map(({ preset, settings }) => ({ ...preset, on: same(settings, this.settings) })),
  )

  /** @param {typeof PRESETS[number]} preset */
  choose(preset) {
    this.page.edit('worked-example', this.#preset(preset))
  }

  /**
   * @param {typeof PRESETS[number]} preset
   * @returns {Partial<Settings>} everything but the views
   */
  #preset({ data, target, change }) {
    const settings = { data, target, seed: NOTEBOOK_SEED, ...notebookSettings(data, target) }
    const before = drawn(this.#gpt, settings)
    const edits = Object.entries(change).map(([name, value]) => [
      name,
      Math.fround(typeof value === 'function' ? value(before[name]) : value),
    ])
    return { ...settings, edits: Object.fromEntries(edits) }
  }

  /** The differences from the notebook, each with its undo. */
  changes = $derived.by(() => {
    const { data, seed, target, unbiased, eps, edits } = this.settings
    const notebook = notebookSettings(data, target)
    const whole = data === 'whiteboard' ? 'the lecture has' : 'the notebook has'
    /** @type {{ name: string, text: string, undo: () => void }[]} */
    const changes = []
    if (seed !== NOTEBOOK_SEED && data !== 'whiteboard') {
      const text = `the seed to ${seed}; the notebook has ${NOTEBOOK_SEED}`
      changes.push({ name: 'seed', text, undo: () => this.change({ seed: NOTEBOOK_SEED }) })
    }
    if (unbiased !== notebook.unbiased) {
      const text = `the variance’s divisor to ${divisor(unbiased)}; ${whole} ${divisor(notebook.unbiased)}`
      changes.push({ name: 'variance', text, undo: () => this.change({ unbiased: notebook.unbiased }) })
    }
    if (eps !== notebook.eps) {
      const text = `ε to ${eps}; ${whole} ${notebook.eps}`
      changes.push({ name: 'eps', text, undo: () => this.change({ eps: notebook.eps }) })
    }
    const whose =
      data === 'notebook' && seed === NOTEBOOK_SEED ? whole : data === 'whiteboard' ? whole : 'the seed drew'
    for (const [name, value] of Object.entries(edits)) {
      const text = `${cellLabel(name)} to ${cellText(value)}; ${whose} ${cellText(this.#drawn[name])}`
      changes.push({ name, text, undo: () => this.edit(name, this.#drawn[name]) })
    }
    return changes
  })

  /**
   * @param {string} name of a cell
   * @param {number} value rounded to float32
   */
  edit(name, value) {
    const rounded = Math.fround(value)
    const { [name]: _, ...others } = this.#edits
    this.page.edit('worked-example', {
      edits: rounded === this.#drawn[name] ? others : { ...this.#edits, [name]: rounded },
    })
  }

  /**
   * Changes settings. Another target brings the notebook's settings for it, and drops the edits of scale and
   * shift, whose number depends on the target's width.
   *
   * @param {Partial<Settings>} settings
   */
  change(settings) {
    const { target = this.#target } = settings
    if (target === this.#target) return this.page.edit('worked-example', settings)
    const edits = Object.entries(this.#edits).filter(([name]) => !/^(gamma|beta)/.test(name))
    this.page.edit('worked-example', {
      ...notebookSettings(this.#data, target),
      edits: Object.fromEntries(edits),
      ...settings,
    })
  }

  /** Restores the notebook's settings and numbers. */
  reset() {
    const { data, target } = this.settings
    this.page.edit('worked-example', { seed: NOTEBOOK_SEED, ...notebookSettings(data, target), edits: {} })
  }
}

/**
 * @param {Partial<Settings>} part
 * @param {Settings} whole
 * @returns {boolean} whether `whole` has all of `part`
 */
const same = (part, whole) => JSON.stringify({ ...whole, ...part }) === JSON.stringify(whole)

/**
 * Counts how many of the notebook's printed numbers equal the shown numbers, to four decimals.
 *
 * @param {Settings['data']} data
 * @param {Settings['target']} target
 * @param {import('./compute.js').Result} result
 * @returns {{ equal: number, total: number }} total is 0 if the notebook prints no such numbers
 */
function compare(data, target, { before, after }) {
  /** @type {Record<string, string[][]>} */
  const printed =
    data === 'notebook' ? NOTEBOOK_PRINTED[target] : data === 'whiteboard' ? NOTEBOOK_PRINTED.whiteboard : {}
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
  for (const [name, rows] of Object.entries(printed)) {
    rows.forEach((row, r) =>
      row.forEach((text, c) => {
        total++
        if (fourDecimals(shown[name][r][c]) === text) equal++
      }),
    )
  }
  return { equal, total }
}
