// A section's slice of the state, from a list of fields: what each is at first, and how it is read and written in the
// address.
//
//   export default slice({ n: integer(6, { min: 1, max: 4096 }), build: choice('simd', ['simd', 'relaxed']) })
//
// Another kind of state brings its own slice: sections/layer/slice.js does.

/**
 * @template [S=Record<string, unknown>]
 * @typedef {object} Slice
 * @property {() => S} defaults plain data, as JSON can say it
 * @property {(state: S) => Record<string, string>} toQuery only what differs from the defaults; Page puts "ID." before
 *   each name
 * @property {(query: Map<string, string>) => { state: S, refused: string[] }} fromQuery `refused` names what means
 *   nothing; the rest counts
 * @property {(value: unknown) => S} validate what a file says; throws an Error whose message is a sentence's end
 * @property {string[]} [views] fields that are what one looks at and no edit: undo leaves them alone
 */

/**
 * @template T
 * @typedef {object} Field
 * @property {T} initial
 * @property {(text: string) => T | undefined} read undefined where the text means nothing
 * @property {(value: T) => string} write
 */

/** @param {number} initial @param {{ min?: number, max?: number }} [limits] @returns {Field<number>} */
export function number(initial, { min = -Infinity, max = Infinity } = {}) {
  const read = (/** @type {string} */ text) => {
    const value = text.trim() === '' ? NaN : Number(text)
    return Number.isFinite(value) && value >= min && value <= max ? value : undefined
  }
  return { initial, read, write: String }
}

/** @param {number} initial @param {{ min?: number, max?: number }} [limits] @returns {Field<number>} */
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
  return {
    initial,
    read: (text) => ({ yes: true, no: false })[text],
    write: (value) => (value ? 'yes' : 'no'),
  }
}

/** @param {string} initial @param {{ max?: number }} [limits] the longest there may be @returns {Field<string>} */
export function text(initial, { max = 1000 } = {}) {
  return { initial, read: (value) => (value.length <= max ? value : undefined), write: (value) => value }
}

/**
 * A row of numbers, as many as there are at first unless `min` and `max` say otherwise.
 *
 * @param {number[]} initial
 * @param {{ min?: number, max?: number }} [count]
 * @returns {Field<number[]>}
 */
export function numbers(initial, { min = initial.length, max = initial.length } = {}) {
  const one = number(0)
  const read = (/** @type {string} */ line) => {
    const values = line === '' ? [] : line.split(',').map(one.read)
    const known = values.filter((value) => value !== undefined)
    return known.length === values.length && known.length >= min && known.length <= max ? known : undefined
  }
  return { initial, read, write: (values) => values.join(',') }
}

/**
 * @param {Record<string, Field<any>>} fields
 * @param {{ views?: string[] }} [options]
 * @returns {Slice<any>}
 */
export function slice(fields, { views = [] } = {}) {
  const entries = Object.entries(fields)
  const defaults = () =>
    structuredClone(Object.fromEntries(entries.map(([name, { initial }]) => [name, initial])))
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
      const state = defaults()
      const refused = []
      for (const [name, line] of query) {
        const value = Object.hasOwn(fields, name) ? fields[name].read(line) : undefined
        if (value === undefined) refused.push(name)
        else state[name] = value
      }
      return { state, refused }
    },
    validate(value) {
      const state = defaults()
      for (const [name, given] of Object.entries(asObject(value))) {
        if (!Object.hasOwn(fields, name)) throw new Error(`there is no “${name}”`)
        const { initial, read, write } = fields[name]
        const alike = typeof given === typeof initial && Array.isArray(given) === Array.isArray(initial)
        const known = alike ? read(write(given)) : undefined
        if (known === undefined) throw new Error(`“${name}” cannot be ${JSON.stringify(given)}`)
        state[name] = known
      }
      return state
    },
  }
}

/** @param {unknown} value @returns {Record<string, unknown>} */
export function asObject(value) {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new Error(`names and values were expected, and ${JSON.stringify(value)} came`)
}
