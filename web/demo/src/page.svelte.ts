// The page's state: one plain object with a slice per section; its undo history; how it is written to the
// address.

import { flushSync } from 'svelte'
import type { Slice } from './fields.ts'
import { sections } from './sections/index.ts'
import { slices, type SectionId, type SliceId, type States } from './sections/slices.ts'

const MOST_STEPS = 1000 // to undo

/** What the address may say of the page's appearance. */
const APPEARANCE: Record<string, string[]> = { theme: ['light', 'dark'], size: ['large'], show: ['figure'] }

/** What a section's component gets. */
export type SectionProps<Id extends SectionId> = { page: Page; id: Id }

const ALL = Object.entries(slices) as [SliceId, Slice<unknown>][]

export class Page {
  /** The slices of the state: the sections' by their ids, and those that several sections share. */
  state: Readonly<States> = $state.raw({} as States)
  /** What is wrong with the address; '' if nothing is. The next change clears it. */
  problem = $state('')
  /** The section whose figure is presented; see Present.svelte. */
  presenting: SectionId | null = $state(null)
  /** How the page looks, as the address said: theme, size, and what an embedded section shows. */
  appearance: Readonly<Record<string, string>> = {}

  #past: readonly Readonly<States>[] = $state.raw([])
  #future: readonly Readonly<States>[] = $state.raw([])
  /** Whether the next edit continues the current step of the history. */
  #stepIsOpen = false

  /**
   * @param query the address's, which sets the initial state. Names and values that are invalid are listed in `problem`
   *   and otherwise ignored
   */
  constructor(query: URLSearchParams) {
    const textsOf = new Map(ALL.map(([id]) => [id as string, new Map()]))
    const refused: string[] = []
    for (const [name, text] of query) {
      if (name === 'embed' || Object.hasOwn(APPEARANCE, name)) continue
      const [, id, rest] = /^([a-z-]+)\.(.+)$/.exec(name) ?? []
      const texts = textsOf.get(id)
      if (texts) texts.set(rest, text)
      else refused.push(`${name}=${text}`)
    }
    const appearance = [...query].filter(([name]) => Object.hasOwn(APPEARANCE, name))
    const known = appearance.filter(([name, value]) => APPEARANCE[name].includes(value))
    this.appearance = Object.fromEntries(known)
    refused.push(...appearance.filter((pair) => !known.includes(pair)).map((pair) => pair.join('=')))
    const entries = ALL.map(([id, slice]) => {
      const texts = textsOf.get(id) ?? new Map()
      const read = slice.fromQuery(texts)
      refused.push(...read.refused.map((name) => `${id}.${name}=${texts.get(name)}`))
      return [id, read.state]
    })
    this.state = Object.fromEntries(entries)
    if (refused.length)
      this.problem = `The address has ${refused.join(', ')}, which means nothing here and was left out.`
  }

  get canUndo() {
    return this.#past.length > 0
  }

  get canRedo() {
    return this.#future.length > 0
  }

  /**
   * Changes a slice of the state; the document is up to date when the call returns. One gesture (a drag, a
   * number typed in one go, a click) is one step to undo.
   */
  edit<Id extends SliceId>(id: Id, changes: Partial<States[Id]>) {
    const next = { ...this.state, [id]: { ...this.state[id], ...changes } }
    if (same(next[id], this.state[id])) return
    this.#update(() => {
      if (!this.#stepIsOpen) this.#past = [...this.#past, this.state].slice(-MOST_STEPS)
      this.#stepIsOpen = true
      this.#future = []
      this.state = next
      if (!same(next, this.#past.at(-1))) return
      // The gesture went back to where it began.
      this.state = this.#past.at(-1) ?? next
      this.#past = this.#past.slice(0, -1)
      this.endStep()
    })
  }

  /**
   * Changes what is shown. This is no step to undo.
   *
   * @param changes only to the slice's `views`
   */
  look<Id extends SliceId>(id: Id, changes: Partial<States[Id]>) {
    this.#update(() => (this.state = { ...this.state, [id]: { ...this.state[id], ...changes } }))
  }

  /** Sets a slice back, except what is shown. */
  reset(id: SliceId) {
    const defaults = Object.fromEntries(ALL.map(([id, slice]) => [id, slice.defaults()]))
    const state = this.#keepViews(defaults as States)
    this.edit(id, state[id])
  }

  /** Ends the current step of the history: the next edit begins another. */
  endStep() {
    this.#stepIsOpen = false
  }

  undo() {
    const before = this.#past.at(-1)
    if (!before) return
    this.endStep()
    this.#update(() => {
      this.#past = this.#past.slice(0, -1)
      this.#future = [...this.#future, this.state]
      this.state = this.#keepViews(before)
    })
  }

  redo() {
    const after = this.#future.at(-1)
    if (!after) return
    this.endStep()
    this.#update(() => {
      this.#future = this.#future.slice(0, -1)
      this.#past = [...this.#past, this.state]
      this.state = this.#keepViews(after)
    })
  }

  /**
   * The state as a query: only what differs from the defaults.
   *
   * @param embed the only section to show
   * @returns '' or '?...'
   */
  query(embed?: string): string {
    const { show, ...appearance } = this.appearance
    const query = new URLSearchParams({
      ...(embed ? { embed, ...(show ? { show } : {}) } : {}),
      ...appearance,
    })
    for (const [id, slice] of ALL) {
      if (embed && !partsOf(embed).includes(id)) continue
      for (const [name, text] of Object.entries(slice.toQuery(this.state[id])))
        query.set(`${id}.${name}`, text)
    }
    // Commas and colons mean nothing else in a query, and can be read.
    const text = query.toString().replace(/%(2C|3A)/g, decodeURIComponent)
    return text && `?${text}`
  }

  /** @param state of the history, or the defaults @returns that state with the present views */
  #keepViews(state: Readonly<States>): States {
    const entries = ALL.map(([id, { views }]) => {
      const now = Object.entries(this.state[id]).filter(([name]) => views.includes(name))
      // Without views the object stays the same, so that nothing derived from it is computed again.
      return [id, views.length ? { ...state[id], ...Object.fromEntries(now) } : state[id]]
    })
    return Object.fromEntries(entries)
  }

  /** Changes the state and updates the document before it returns. */
  #update(change: () => void) {
    flushSync(() => {
      change()
      this.problem = ''
    })
  }
}

/** @param id of a section @returns the slices of the state that it shows */
const partsOf = (id: string): readonly SliceId[] =>
  sections.find((section) => section.id === id)?.state ?? [id as SliceId]

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
