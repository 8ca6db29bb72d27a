// The page's example: the two rows of six numbers that the opening and "How it is computed" show, and what the norm
// makes of them. The rows follow from the batch and the layer, until a dot of a row is moved, in either section.

import { cellNames, drawn, throughLayer } from './example.ts'
import { normalize } from './norm.ts'
import type { Page } from './page.svelte.ts'

/** The rows in the example's slice. */
const ROWS = ['first', 'second'] as const

export class Example {
  page: Page
  state = $derived.by(() => this.page.state.example)
  #seed = $derived(this.state.seed)
  #edits = $derived(this.state.edits)
  /** The batch and the layer before any edit, by cell name. */
  drawn = $derived.by(() => drawn(this.#seed))
  /** Every number that can be changed, by its name. */
  cells = $derived({ ...this.drawn, ...this.#edits })
  /** What follows from the batch and the layer. */
  computed = $derived.by(() => throughLayer(this.cells))
  /** Whether a row has numbers of its own. */
  moved = $derived.by(() => ROWS.map((row) => this.state[row].length > 0))
  y = $derived.by(() => ROWS.map((row, r) => (this.moved[r] ? this.state[row] : this.computed.y[r])))
  norm = $derived({ divisor: this.state.divisor, eps: this.state.eps })
  /** Scale and shift where they are edited. */
  #affine = $derived.by(() =>
    (['gamma', 'beta'] as const).map((table) => cellNames(table).map((name) => this.cells[name])),
  )
  #isPlain = $derived(isPlain(this.#edits))
  /** Each row before the norm, on its way, and after it. */
  normalized = $derived.by(() =>
    this.y.map((row) => normalize(row, this.norm, ...(this.#isPlain ? [] : this.#affine))),
  )

  constructor(page: Page) {
    this.page = page
  }

  /** Gives a row numbers of its own. */
  move(r: number, values: number[]) {
    const rounded = values.map(Math.fround)
    const same = rounded.every((value, c) => value === this.computed.y[r][c])
    this.page.edit('example', { [ROWS[r]]: same ? [] : rounded })
  }

  /**
   * Changes a number of the batch, of the layer, or of scale and shift. The rows that depend on it follow
   * from the batch again.
   *
   * @param name of its cell
   */
  edit(name: string, value: number) {
    const rounded = Math.fround(value)
    const { [name]: _, ...others } = this.#edits
    const edits = rounded === this.drawn[name] ? others : { ...others, [name]: rounded }
    const [, table, row] = /^([a-z]+)(\d)/.exec(name) ?? []
    const follows = { x: [ROWS[Number(row) - 1]], w: ROWS, b: ROWS }[table] ?? []
    this.page.edit('example', { edits, ...Object.fromEntries(follows.map((row) => [row, []])) })
  }
}

/** Whether scale and shift are 1 and 0. */
export const isPlain = (edits: Record<string, number>) =>
  !Object.keys(edits).some((name) => /^(gamma|beta)/.test(name))

const examples: WeakMap<Page, Example> = new WeakMap()

/** The page's example: one object for all sections. */
export function exampleOf(page: Page): Example {
  const example = examples.get(page) ?? new Example(page)
  examples.set(page, example)
  return example
}
