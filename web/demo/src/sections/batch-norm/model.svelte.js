// Everything that the section derives from its state, before and after the last step, and its edits.

/** @import { Gpt } from 'gpt-layers' */
/** @import { Column } from '../../components/Table.svelte' */
/** @import { States } from '../index.js' */
/** @import { Page } from '../../page.svelte.js' */
/** @import { Drawn } from './compute.js' */
/** @import { NormName } from './slice.js' */

import { draw, normalise } from './compute.js'
import { FEATURES } from './slice.js'

/** @param {number} r @param {number} c @returns {string} x12 for sample 1's feature 2 */
export const cellName = (r, c) => `x${r + 1}${c + 1}`

export class Norms {
  /** @typedef {{ row: number, col: Column, table: 'x' | 'left' | 'right' }} Pointed */
  /** The cell pointed at, in one of the three tables. */
  pointed = $state(/** @type {Pointed | null} */ (null))

  /** @type {Page} */ page
  /** @type {Gpt} */ #gpt
  settings = $derived.by(() => this.page.state['batch-norm'])
  #before = $derived.by(() => this.page.before['batch-norm'])
  #seed = $derived(this.settings.seed)
  #seedBefore = $derived(this.#before.seed)
  drawn = $derived.by(() => draw(this.#gpt, this.#seed))
  #drawnBefore = $derived.by(() =>
    this.#seedBefore === this.#seed ? this.drawn : draw(this.#gpt, this.#seedBefore),
  )
  /** The batch, [samples][5]. */
  x = $derived(batch(this.drawn, this.settings))
  left = $derived.by(() => this.#table(this.settings.left))
  right = $derived.by(() => this.#table(this.settings.right))

  /**
   * @param {Page} page
   * @param {Gpt} gpt
   */
  constructor(page, gpt) {
    this.page = page
    this.#gpt = gpt
  }

  /** @param {Partial<States['batch-norm']>} settings */
  change(settings) {
    this.page.edit('batch-norm', settings)
  }

  /** @param {number} row @param {number} col @param {number} value */
  edit(row, col, value) {
    const name = cellName(row, col)
    const { [name]: _, ...others } = this.settings.edits
    this.change({ edits: value === this.drawn.x[row][col] ? others : { ...others, [name]: value } })
  }

  /** Whether the last step was one of this section. */
  get changed() {
    return this.#before !== this.settings
  }

  /**
   * A norm of the batch, and which of its numbers the last step moved.
   *
   * @param {NormName} name
   */
  #table(name) {
    const { mode } = this.settings
    const result = normalise(this.#gpt, name, this.x, mode === 'evaluation' ? this.drawn : null)
    const was = this.#before
    const before = normalise(
      this.#gpt,
      name,
      batch(this.#drawnBefore, was),
      was.mode === 'evaluation' ? this.#drawnBefore : null,
    )
    const moved = (result?.values ?? []).map((row, r) =>
      row.map((value, c) => before?.values[r] !== undefined && before.values[r][c] !== value),
    )
    return { name, columns: name === 'batch', result, moved }
  }
}

/**
 * @param {Drawn} drawn
 * @param {{ batch: number, edits: Record<string, number> }} settings
 * @returns {number[][]}
 */
function batch(drawn, settings) {
  return drawn.x
    .slice(0, settings.batch)
    .map((row, r) => row.map((value, c) => settings.edits[cellName(r, c)] ?? value))
}

/**
 * Says which numbers moved.
 *
 * @param {boolean[][]} moved [samples][5]
 * @returns {string}
 */
export function whose(moved) {
  const rows = moved.flatMap((row, r) => (row.some(Boolean) ? [r + 1] : []))
  const columns = Array.from({ length: FEATURES }, (_, c) => c + 1).filter((c) =>
    moved.some((row) => row[c - 1]),
  )
  if (!rows.length) return 'None of these numbers moved.'
  const samples = rows.length === moved.length ? 'every sample' : `sample ${list(rows)}`
  const features = columns.length === FEATURES ? 'All' : `Feature ${list(columns)}`
  const alone = rows.length === 1 && moved.length > 1 ? ', and no other’s' : ''
  return `${features} of ${samples} moved${alone}.`
}

/** @param {number[]} numbers @returns {string} 1, 2 and 3 */
const list = (numbers) => [numbers.slice(0, -1).join(', '), numbers.at(-1)].filter(Boolean).join(' and ')
