// The page's state: one plain object with a slice per section; its undo history; how it is written to the
// address and to a file.
//
// A section consists of a slice (fields.js), a component, and three lines in sections/index.js: an import,
// and one line in each list. The component gets { page, gpt, id } and uses
//   page.state[id]               its slice of the state: plain data, never written to
//   page.edit(id, { n: 7 })      changes the state; the document is up to date when the call returns. One
//                                gesture (a drag, a number typed in one go, a click) is one step to undo
//   page.look(id, { step: 3 })   changes only the slice's `views`: in the address, but nothing to undo
//   page.problem = 'A sentence.' says what is wrong with the address or a file; the next change clears it
//   page.offer(id, () => ({ }))  in an $effect: its computed numbers, to be saved with the state

import { flushSync } from 'svelte'
import { asObject } from './fields.js'

/** @import { Slice } from './fields.js' */
/** @import { SectionId, States } from './sections/index.js' */

const VERSION = 1 // of the file
const MOST_STEPS = 1000 // to undo
/**
 * This section's names appear in the address without a prefix; the other sections' names begin with "ID.".
 */
const UNPREFIXED = 'worked-example'

/** What the address may say of the page's looks. @type {Record<string, string[]>} */
const LOOKS = { theme: ['light', 'dark'], size: ['large'], show: ['figure'] }

/** @param {string} id of a section @returns {string} what its names in the address begin with */
const prefixOf = (id) => (id === UNPREFIXED ? '' : `${id}.`)

export class Page {
  /** Each section's slice of the state, by its id. @type {Readonly<States>} */
  state = $state.raw(/** @type {States} */ ({}))
  /** What is wrong with the address or with a file; '' if nothing is. */
  problem = $state('')
  /** Milliseconds from the last edit to the updated document. */
  updateTime = $state(0)
  /**
   * Its looks, as the address said: theme, size, and what an embedded section shows.
   *
   * @type {Readonly<Record<string, string>>}
   */
  looks = {}

  /** @type {[SectionId, Slice<any>][]} */ #slices
  /** @type {readonly Readonly<States>[]} */ #past = $state.raw([])
  /** @type {readonly Readonly<States>[]} */ #future = $state.raw([])
  /** Whether the next edit continues the current step of the history. */
  #stepIsOpen = false
  /** @type {Map<string, () => unknown>} */ #offers = new Map()

  /**
   * @param {Readonly<Record<SectionId, Slice<any>>>} slices
   * @param {URLSearchParams} query the address's, which sets the initial state
   */
  constructor(slices, query) {
    this.#slices = /** @type {[SectionId, Slice<any>][]} */ (Object.entries(slices))
    this.#read(query)
  }

  get canUndo() {
    return this.#past.length > 0
  }

  get canRedo() {
    return this.#future.length > 0
  }

  /**
   * The state before the last step of the history, so that a section can show what changed; `state` if there
   * is none.
   */
  get before() {
    return this.#past.at(-1) ?? this.state
  }

  /**
   * Changes a section's state, as a step that can be undone.
   *
   * @template {SectionId} Id
   * @param {Id} id
   * @param {Partial<States[Id]>} changes
   */
  edit(id, changes) {
    const next = { ...this.state, [id]: { ...this.state[id], ...changes } }
    if (same(next[id], this.state[id])) return
    this.#update(() => {
      if (!this.#stepIsOpen) this.#past = [...this.#past, this.state].slice(-MOST_STEPS)
      this.#stepIsOpen = true
      this.#future = []
      this.state = next
    })
  }

  /**
   * Changes what a section shows. This is no step to undo.
   *
   * @template {SectionId} Id
   * @param {Id} id
   * @param {Partial<States[Id]>} changes only to the slice's `views`
   */
  look(id, changes) {
    this.#update(() => (this.state = { ...this.state, [id]: { ...this.state[id], ...changes } }))
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

  /** The state as a query: only what differs from the defaults. @returns {string} '' or '?...' */
  get query() {
    return this.queryFor()
  }

  /** @param {string} [embed] the only section to show @returns {string} '' or '?...' */
  queryFor(embed) {
    const { show, ...looks } = this.looks
    const query = new URLSearchParams({ ...(embed ? { embed, ...(show ? { show } : {}) } : {}), ...looks })
    for (const [id, slice] of this.#slices) {
      if (embed && id !== embed) continue
      for (const [name, text] of Object.entries(slice.toQuery(this.state[id])))
        query.set(prefixOf(id) + name, text)
    }
    const text = query.toString()
    return text && `?${text}`
  }

  /**
   * Offers a section's computed numbers, to be saved with the state.
   *
   * @param {SectionId} id
   * @param {() => unknown} numbers called when a file is saved; the result must be JSON data
   * @returns {() => void} withdraws the offer
   */
  offer(id, numbers) {
    this.#offers.set(id, numbers)
    return () => this.#offers.delete(id)
  }

  /** @returns {string} the state, and the numbers computed from it, as JSON */
  toFile() {
    const numbers = Object.fromEntries([...this.#offers].map(([id, numbers]) => [id, numbers()]))
    const file = { page: 'gpt-layers', version: VERSION, state: this.state, numbers }
    return JSON.stringify(file, null, 1) + '\n'
  }

  /**
   * Loads the state from a file, as one step to undo. If the file is invalid, sets `problem` and changes
   * nothing else.
   *
   * @param {string} text as `toFile` wrote it; the numbers in it are ignored
   */
  fromFile(text) {
    try {
      const file = asObject(JSON.parse(text))
      if (file.page !== 'gpt-layers' || file.version !== VERSION)
        throw new Error('this page did not write it')
      const given = asObject(file.state)
      for (const id of Object.keys(given)) {
        if (!this.#slices.some(([own]) => own === id)) throw new Error(`there is no section “${id}” here`)
      }
      const entries = this.#slices.map(([id, slice]) => {
        return [id, Object.hasOwn(given, id) ? slice.validate(given[id]) : slice.defaults()]
      })
      this.endStep()
      this.#update(() => {
        this.#past = [...this.#past, this.state].slice(-MOST_STEPS)
        this.#future = []
        this.state = Object.fromEntries(entries)
      })
    } catch (error) {
      const why = error instanceof SyntaxError ? 'it is not JSON' : /** @type {Error} */ (error).message
      this.problem = `That file cannot be loaded: ${why}. Nothing was changed.`
    }
  }

  /**
   * Sets the state from a query. Names and values that are invalid are listed in `problem` and otherwise
   * ignored.
   *
   * @param {URLSearchParams} query
   */
  #read(query) {
    const own = new Map(this.#slices.map(([id]) => [/** @type {string} */ (id), new Map()]))
    for (const [name, text] of query) {
      if (name === 'embed' || Object.hasOwn(LOOKS, name)) continue
      const [, id, rest] = /^([a-z-]+)\.(.+)$/.exec(name) ?? []
      if (id !== undefined && id !== UNPREFIXED && own.has(id)) own.get(id)?.set(rest, text)
      else own.get(UNPREFIXED)?.set(name, text)
    }
    const looks = [...query].filter(([name]) => Object.hasOwn(LOOKS, name))
    const known = looks.filter(([name, value]) => LOOKS[name].includes(value))
    this.looks = Object.fromEntries(known)
    const refused = looks.filter((look) => !known.includes(look)).map((look) => look.join('='))
    const entries = this.#slices.map(([id, slice]) => {
      const texts = own.get(id) ?? new Map()
      const read = slice.fromQuery(texts)
      refused.push(...read.refused.map((name) => `${prefixOf(id)}${name}=${texts.get(name)}`))
      return [id, read.state]
    })
    this.state = Object.fromEntries(entries)
    if (refused.length)
      this.problem = `The address has ${refused.join(', ')}, which means nothing here and was left out.`
  }

  /** @param {Readonly<States>} state from the history @returns {States} that state with the present views */
  #keepViews(state) {
    const entries = this.#slices.map(([id, { views }]) => {
      /** @type {Record<string, unknown>} */
      const now = this.state[id]
      // Without views the object stays the same, so that nothing derived from it is computed again.
      return [id, views.length ? { ...state[id], ...pick(now, views) } : state[id]]
    })
    return Object.fromEntries(entries)
  }

  /** Changes the state and updates the document before it returns. @param {() => void} change */
  #update(change) {
    const start = performance.now()
    flushSync(() => {
      change()
      this.problem = ''
    })
    this.updateTime = performance.now() - start
  }
}

/** @param {Record<string, unknown>} object @param {readonly string[]} names */
const pick = (object, names) => Object.fromEntries(names.map((name) => [name, object[name]]))

/** @param {unknown} a @param {unknown} b */
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b)
