// Everything that the section derives from its state, before and after the last step, and its edits.

import type { Gpt } from 'gpt-layers'
import type { Page } from '../../page.svelte.ts'
import type { States } from '../index.ts'
import { describe, draw, normalize, type Drawn } from './compute.ts'
import { FEATURES, type NormName } from './slice.ts'

const ID = 'batch-norm'

/** The batch, the norm of its rows, and the norm of its columns. */
export type Table = 'x' | 'row' | 'batch'

/** @returns x12 for sample 1's feature 2 */
export const cellName = (r: number, c: number): string => `x${r + 1}${c + 1}`

export class Norms {
  /** The dot pointed at, in each of the tables. */
  pointed = $state<Record<Table, { key: string; i: number } | null>>({ x: null, row: null, batch: null })

  #page: Page
  #gpt: Gpt
  settings = $derived.by(() => this.#page.state[ID])
  #before = $derived.by(() => this.#page.before[ID])
  #seed = $derived(this.settings.seed)
  #seedBefore = $derived(this.#before.seed)
  drawn = $derived.by(() => draw(this.#gpt, this.#seed))
  #drawnBefore = $derived.by(() =>
    this.#seedBefore === this.#seed ? this.drawn : draw(this.#gpt, this.#seedBefore),
  )
  /** The batch, [samples][5]. */
  x = $derived(batch(this.drawn, this.settings))
  statistics = $derived.by(() => describe(this.#gpt, this.x))
  row = $derived.by(() => this.#result(this.settings.row))
  batch = $derived.by(() => this.#result('batch'))

  constructor(page: Page, gpt: Gpt) {
    this.#page = page
    this.#gpt = gpt
  }

  change(settings: Partial<States['batch-norm']>) {
    this.#page.edit(ID, settings)
  }

  edit(row: number, col: number, value: number) {
    const name = cellName(row, col)
    const { [name]: _, ...others } = this.settings.edits
    this.change({ edits: value === this.drawn.x[row][col] ? others : { ...others, [name]: value } })
  }

  /** Whether the last step was one of this section. */
  get changed() {
    return this.#before !== this.settings
  }

  /** The row and column that is pointed at, and in which table. */
  get at() {
    for (const table of ['x', 'row', 'batch'] as const) {
      const pointed = this.pointed[table]
      if (pointed) return { table, row: Number(pointed.key), col: pointed.i }
    }
    return null
  }

  /**
   * The dots to light in a row of a table: of the batch, what the dot that is pointed at is computed from; of
   * a norm, what is computed from that dot. Where none is pointed at, what the last step moved.
   */
  lit(table: Table, r: number): number[] {
    const { at } = this
    const every = this.x[0].map((_, c) => c)
    if (!at) return table === 'x' ? [] : every.filter((c) => this[table].moved[r][c])
    const norm = table === 'x' ? at.table : table
    if (norm === 'row') return r === at.row ? every : []
    return r === at.row || this.#shared(norm) ? [at.col] : []
  }

  /** Whether samples share a feature's statistics. */
  #shared(norm: Table) {
    return norm === 'batch' && this.settings.mode === 'training'
  }

  /** A norm of the batch, and which of its numbers the last step moved. */
  #result(name: NormName) {
    const was = this.#before
    const values = normalize(this.#gpt, name, this.x, this.settings.mode === 'evaluation' ? this.drawn : null)
    const before = normalize(
      this.#gpt,
      name,
      batch(this.#drawnBefore, was),
      was.mode === 'evaluation' ? this.#drawnBefore : null,
    )
    const moved = (values ?? []).map((row, r) =>
      row.map((value, c) => before?.[r] !== undefined && before[r][c] !== value),
    )
    return { name, values, moved, ...(values && describe(this.#gpt, values)) }
  }
}

function batch(drawn: Drawn, settings: { batch: number; edits: Record<string, number> }): number[][] {
  return drawn.x
    .slice(0, settings.batch)
    .map((row, r) => row.map((value, c) => settings.edits[cellName(r, c)] ?? value))
}

/**
 * Says which numbers moved.
 *
 * @param moved [samples][5]
 */
export function whose(moved: boolean[][]): string {
  const rows = moved.flatMap((row, r) => (row.some(Boolean) ? [r + 1] : []))
  const columns = Array.from({ length: FEATURES }, (_, c) => c + 1).filter((c) =>
    moved.some((row) => row[c - 1]),
  )
  if (!rows.length) return 'Nothing moved.'
  const every = rows.length === moved.length && rows.length > 1
  if (every && columns.length === FEATURES) return 'Every number moved.'
  const samples = every ? 'every sample' : `${rows.length > 1 ? 'samples' : 'sample'} ${list(rows)}`
  const features = columns.length === FEATURES ? 'All' : `Feature ${list(columns)}`
  const alone = rows.length === 1 && moved.length > 1 ? ', and no other sample' : ''
  return `${features} of ${samples} moved${alone}.`
}

/** @returns 1, 2 and 3 */
const list = (numbers: number[]): string =>
  [numbers.slice(0, -1).join(', '), numbers.at(-1)].filter(Boolean).join(' and ')
