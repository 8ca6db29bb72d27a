// The page's state has its one home here: a plain object with a slice for each section, what was done and can be undone,
// and how all of it goes into the address and into a file.
//
// A section is three things: a slice (fields.js), a component, and a line in sections/index.js. The component gets
// { page, gpt, id } and
//   reads     page.state[id]                     plain data, never written to
//   edits     page.edit(id, { n: 7 })            the document follows within the call, and one gesture (a drag, what
//                                                is typed in one go, a click) is one step to undo
//   looks     page.look(id, { step: 3 })         for the slice's `views`: in the address, but nothing to undo
//   refuses   page.problem = 'A sentence.'       says why; the next change takes it away
//   offers    $effect(() => page.offer(id, () => ({ ... })))   its computed numbers, for the file

import { flushSync } from 'svelte'
import { asObject } from './fields.js'

/** @import { Slice } from './fields.js' */

const VERSION = 1 // of the file
const MOST_STEPS = 1000 // to undo
/** The section whose names stand in the address as they are; the others' have their section's before a point. */
const PLAIN = 'layer'

export class Page {
  /** Each section's slice of the state, by its id. @type {Readonly<Record<string, any>>} */
  state = $state.raw({})
  /** What is wrong with what was typed, with the address or with a file; '' when nothing is. */
  problem = $state('')
  /** How long the last update took, event to document, in milliseconds. */
  updateTime = $state(0)

  /** @type {Record<string, Slice<any>>} */ #slices
  /** @type {Readonly<Record<string, any>>[]} */ #past = $state.raw([])
  /** @type {Readonly<Record<string, any>>[]} */ #future = $state.raw([])
  /** Whether the next edit goes on with the step that the last one began. */
  #going = false
  /** @type {Map<string, () => unknown>} */ #offers = new Map()

  /**
   * @param {Record<string, Slice<any>>} slices by section
   * @param {URLSearchParams} query
   */
  constructor(slices, query) {
    this.#slices = slices
    this.#read(query)
  }

  get canUndo() {
    return this.#past.length > 0
  }

  get canRedo() {
    return this.#future.length > 0
  }

  /** The state before the last step that was done, for a section to say what moved; the state itself if there is none. */
  get before() {
    return this.#past.at(-1) ?? this.state
  }

  /**
   * Changes a section's state, as a step that can be undone.
   *
   * @param {string} id of the section
   * @param {Record<string, unknown>} changes
   */
  edit(id, changes) {
    const next = { ...this.state, [id]: { ...this.state[id], ...changes } }
    if (same(next[id], this.state[id])) return
    this.#update(() => {
      if (!this.#going) this.#past = [...this.#past, this.state].slice(-MOST_STEPS)
      this.#going = true
      this.#future = []
      this.state = next
    })
  }

  /**
   * Changes what one looks at in a section, which is nothing to undo.
   *
   * @param {string} id of the section
   * @param {Record<string, unknown>} changes only of the slice's `views`
   */
  look(id, changes) {
    this.#update(() => (this.state = { ...this.state, [id]: { ...this.state[id], ...changes } }))
  }

  /** Ends the step that edits have been going on with: the next edit begins another. */
  endStep() {
    this.#going = false
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

  /** @param {string} [embed] the one section to show @returns {string} '' or '?...' */
  queryFor(embed) {
    const query = new URLSearchParams(embed ? { embed } : {})
    for (const [id, slice] of Object.entries(this.#slices)) {
      if (embed && id !== embed) continue
      const prefix = id === PLAIN ? '' : `${id}.`
      for (const [name, text] of Object.entries(slice.toQuery(this.state[id]))) query.set(prefix + name, text)
    }
    const text = query.toString()
    return text && `?${text}`
  }

  /**
   * What a section's computed numbers are, for the file.
   *
   * @param {string} id of the section
   * @param {() => unknown} numbers as JSON can say them
   * @returns {() => void} takes the offer back
   */
  offer(id, numbers) {
    this.#offers.set(id, numbers)
    return () => this.#offers.delete(id)
  }

  /** @returns {string} the state, and the numbers that follow from it, as JSON */
  toFile() {
    const numbers = Object.fromEntries([...this.#offers].map(([id, numbers]) => [id, numbers()]))
    return (
      JSON.stringify({ page: 'gpt-layers', version: VERSION, state: this.state, numbers }, null, 1) + '\n'
    )
  }

  /**
   * Takes the state from a file, as one step to undo; where it is none of ours, says so and leaves all as it was.
   *
   * @param {string} text as toFile wrote it; its numbers are computed anew
   */
  fromFile(text) {
    try {
      const file = asObject(JSON.parse(text))
      if (file.page !== 'gpt-layers' || file.version !== VERSION)
        throw new Error('this page did not write it')
      const given = asObject(file.state)
      for (const id of Object.keys(given)) {
        if (!Object.hasOwn(this.#slices, id)) throw new Error(`there is no section “${id}” here`)
      }
      const state = Object.fromEntries(
        Object.entries(this.#slices).map(([id, slice]) => {
          return [id, Object.hasOwn(given, id) ? slice.validate(given[id]) : slice.defaults()]
        }),
      )
      this.endStep()
      this.#update(() => {
        this.#past = [...this.#past, this.state].slice(-MOST_STEPS)
        this.#future = []
        this.state = state
      })
    } catch (error) {
      const why = error instanceof SyntaxError ? 'it is not JSON' : /** @type {Error} */ (error).message
      this.problem = `That file cannot be loaded: ${why}. Nothing was changed.`
    }
  }

  /**
   * Sets the state a query describes. What it does not understand it names in `problem`, and leaves as it is.
   *
   * @param {URLSearchParams} query
   */
  #read(query) {
    /** @type {Record<string, Map<string, string>>} */
    const own = Object.fromEntries(Object.keys(this.#slices).map((id) => [id, new Map()]))
    const refused = []
    for (const [name, text] of query) {
      const [, id, rest] = /^([a-z]+)\.(.+)$/.exec(name) ?? ['', PLAIN, name]
      if (name === 'embed') continue
      if (id !== PLAIN && Object.hasOwn(own, id)) own[id].set(rest, text)
      else own[PLAIN].set(name, text)
    }
    /** @type {Record<string, unknown>} */
    const state = {}
    for (const [id, slice] of Object.entries(this.#slices)) {
      const read = slice.fromQuery(own[id])
      state[id] = read.state
      const prefix = id === PLAIN ? '' : `${id}.`
      refused.push(...read.refused.map((name) => `${prefix}${name}=${own[id].get(name)}`))
    }
    this.state = state
    if (refused.length)
      this.problem = `The address has ${refused.join(', ')}, which means nothing here and was left out.`
  }

  /** @param {Readonly<Record<string, any>>} state from the history @returns what one looks at now, in it */
  #keepViews(state) {
    return Object.fromEntries(
      Object.entries(state).map(([id, slice]) => {
        const views = (this.#slices[id].views ?? []).map((name) => [name, this.state[id][name]])
        // the same object where nothing is kept: what is derived from it need not follow
        return [id, views.length ? { ...slice, ...Object.fromEntries(views) } : slice]
      }),
    )
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

/** @param {unknown} a @param {unknown} b */
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b)
