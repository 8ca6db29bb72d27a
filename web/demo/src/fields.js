// A section's slice of the page's state, made from a list of fields. A field knows its initial value and how
// to read and write it in the address.
//
//   export default slice({ n: integer(6, { min: 1 }), build: choice('simd', ['simd', 'relaxed']) })
//
// A section whose state is no such list implements Slice itself: sections/worked-example/slice.js does.

/**
 * @template S the section's state: plain data, as JSON can hold it
 * @typedef {object} Slice
 * @property {() => S} defaults
 * @property {(state: S) => Record<string, string>} toQuery the values that differ from the defaults, by name;
 *   Page prefixes each name with "ID."
 * @property {(query: Map<string, string>) => { state: S, refused: string[] }} fromQuery `refused` lists the
 *   names it does not know and the names whose values are invalid
 * @property {(value: unknown) => S} validate checks the state in a file; throws an Error whose message
 *   completes the sentence "That file cannot be loaded: ..."
 * @property {string[]} views the fields that only select what is shown; undo does not change them
 */

/**
 * The state of a slice.
 *
 * @template {Slice<any>} S
 * @typedef {ReturnType<S['defaults']>} StateOf
 */

/**
 * @template T
 * @typedef {object} Field
 * @property {T} initial
 * @property {(text: string) => T | undefined} read undefined if the text is invalid
 * @property {(value: T) => string} write
 */

/** @typedef {{ min?: number, max?: number }} Limits */

/** @param {number} initial @param {Limits} [limits] @returns {Field<number>} */
export function number(initial, { min = -Infinity, max = Infinity } = {}) {
  const read = (/** @type {string} */ text) => {
    const value = text.trim() === '' ? NaN : Number(text)
    return Number.isFinite(value) && value >= min && value <= max ? value : undefined
  }
  return { initial, read, write: String }
}

/** @param {number} initial @param {Limits} [limits] @returns {Field<number>} */
export function integer(initial, limits) {
  const { read, write } = number(initial, limits)
  return {
    initial,
    write,
    read: (text) => {
      const value = read(text)
      return Number.isInteger(value) ? value : undefined
    },
  }
}

/** @template {string} T @param {T} initial @param {readonly T[]} choices @returns {Field<T>} */
export function choice(initial, choices) {
  return { initial, read: (text) => choices.find((one) => one === text), write: (value) => value }
}

/** @param {boolean} initial @returns {Field<boolean>} */
export function flag(initial) {
  const read = (/** @type {string} */ text) => (text === 'yes' ? true : text === 'no' ? false : undefined)
  return { initial, read, write: (value) => (value ? 'yes' : 'no') }
}

/**
 * @param {string} initial
 * @param {{ max?: number }} [limits] max: the longest text
 * @returns {Field<string>}
 */
export function text(initial, { max = 1000 } = {}) {
  return { initial, read: (value) => (value.length <= max ? value : undefined), write: (value) => value }
}

/**
 * A list of numbers. Its length is fixed unless `min` and `max` say otherwise.
 *
 * @param {number[]} initial
 * @param {Limits & { each?: Limits }} [limits] min, max: of the length; each: of every number
 * @returns {Field<number[]>}
 */
export function numbers(initial, { min = initial.length, max = initial.length, each } = {}) {
  const one = number(0, each)
  const read = (/** @type {string} */ line) => {
    const values = line === '' ? [] : line.split(',').map(one.read)
    const known = values.filter((value) => value !== undefined)
    return known.length === values.length && known.length >= min && known.length <= max ? known : undefined
  }
  return { initial, read, write: (values) => values.join(',') }
}

/**
 * @template {Record<string, Field<any>>} Fields
 * @typedef {{ [Name in keyof Fields]: Fields[Name]['initial'] }} Values
 */

/**
 * @template {Record<string, Field<any>>} Fields
 * @param {Fields} fields
 * @param {{ views?: string[] }} [options] views: as in Slice
 * @returns {Slice<Values<Fields>>}
 */
export function slice(fields, { views = [] } = {}) {
  /** @typedef {Values<Fields>} State */
  const entries = Object.entries(fields)
  const defaults = () =>
    /** @type {State} */ (
      structuredClone(Object.fromEntries(entries.map(([name, { initial }]) => [name, initial])))
    )
  return {
    views,
    defaults,
    toQuery: (state) =>
      Object.fromEntries(
        entries
          .map(([name, { initial, write }]) => [name, write(state[name]), write(initial)])
          .filter(([, now, initial]) => now !== initial),
      ),
    fromQuery(query) {
      const refused = []
      /** @type {Record<string, unknown>} */
      const read = {}
      for (const [name, line] of query) {
        const value = Object.hasOwn(fields, name) ? fields[name].read(line) : undefined
        if (value === undefined) refused.push(name)
        else read[name] = value
      }
      return { state: { ...defaults(), ...read }, refused }
    },
    validate(value) {
      /** @type {Record<string, unknown>} */
      const valid = {}
      for (const [name, given] of Object.entries(asObject(value))) {
        if (!Object.hasOwn(fields, name)) throw new Error(`there is no “${name}”`)
        const { initial, read, write } = fields[name]
        const alike = typeof given === typeof initial && Array.isArray(given) === Array.isArray(initial)
        const known = alike ? read(write(given)) : undefined
        if (known === undefined) throw new Error(`“${name}” cannot be ${JSON.stringify(given)}`)
        valid[name] = known
      }
      return { ...defaults(), ...valid }
    },
  }
}

/**
 * @param {unknown} value
 * @returns {Record<string, unknown>} a shallow copy; throws if the value is no plain object
 */
export function asObject(value) {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new Error(`names and values were expected, not ${JSON.stringify(value)}`)
}
