import { describe, MAX_AXES } from '../check.js'
import { fail } from '../errors.js'
import { bytesOf, DTYPES } from './dtypes.js'
import { decodeUtf8 } from './utf8.js'

/** The most characters of a number, true, false or null. */
const MAX_TOKEN = 32

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Space, tab, line feed, carriage return. */
const WHITE_SPACE = [0x20, 0x09, 0x0a, 0x0d]

/**
 * What the header says about a tensor.
 *
 * @typedef {object} Info
 * @property {string} name
 * @property {string} dtype one of DTYPES
 * @property {readonly number[]} shape
 * @property {number} begin the first byte, from the begin of the data
 * @property {number} end the byte after the last
 */

/**
 * @typedef {object} Header
 * @property {Info[]} tensors in the order of their data
 * @property {number} dataBytes the length of the data
 * @property {ReadonlyMap<string, string>} metadata
 */

/**
 * Reads the header of a safetensors file, as strictly as the format's own library. Time and memory grow with
 * its length only: each entry is checked before the next one is read, and nothing may be nested deeper than
 * the format is.
 *
 * @param {string} what the argument that is the file, for errors
 * @param {Uint8Array} bytes JSON in UTF-8
 * @returns {Header}
 * @throws {GptLayersError} VALUE, UNSUPPORTED
 */
export function readHeader(what, bytes) {
  /** @type {Info[]} */
  const tensors = []
  /** @type {ReadonlyMap<string, string>} */
  let metadata = new Map()
  const reader = new Reader(what, bytes)
  reader.object((name) => {
    const fields = reader.isAtObject() ? readFields(reader) : reader.value()
    if (name !== '__metadata__') tensors.push(checkInfo(what, name, fields))
    else if (isStrings(fields)) metadata = fields
    else throw notSafetensors(what, '__metadata__ that is not an object of strings')
  })
  reader.end()
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end)
  let dataBytes = 0
  for (const { name, begin, end } of tensors) {
    if (begin !== dataBytes) {
      throw notSafetensors(what, `${describe(name)} at byte ${begin} of the data instead of ${dataBytes}`)
    }
    dataBytes = end
  }
  return { tensors, dataBytes, metadata }
}

/** @param {unknown} fields @returns {fields is Map<string, string>} */
const isStrings = (fields) =>
  fields instanceof Map && [...fields.values()].every((value) => typeof value === 'string')

/** @param {Reader} reader at an object @returns {Map<string, unknown>} */
function readFields(reader) {
  const fields = new Map()
  reader.object((name) => fields.set(name, reader.value()))
  return fields
}

/**
 * @param {string} what the argument that is the file
 * @param {string} problem
 * @param {unknown} [cause]
 */
export const notSafetensors = (what, problem, cause) =>
  fail('VALUE', what, 'be a safetensors file', problem, cause)

/**
 * @param {string} what
 * @param {string} name
 * @param {unknown} info
 * @returns {Info}
 */
function checkInfo(what, name, info) {
  const [dtype, shape, offsets] = ['dtype', 'shape', 'data_offsets'].map((field) =>
    info instanceof Map ? info.get(field) : undefined,
  )
  const tensor = describe(name)
  if (typeof dtype !== 'string') throw notSafetensors(what, `${tensor} with dtype ${describe(dtype)}`)
  if (!Object.hasOwn(DTYPES, dtype)) {
    const known = Object.keys(DTYPES).join(', ')
    throw fail('UNSUPPORTED', tensor, `have a dtype among ${known}`, describe(dtype))
  }
  if (!areCounts(shape)) throw notSafetensors(what, `${tensor} of shape ${describe(shape)}`)
  if (!areCounts(offsets) || offsets.length !== 2) {
    throw notSafetensors(what, `${tensor} at offsets ${describe(offsets)}`)
  }
  const [begin, end] = offsets
  const size = bytesOf(dtype, shape)
  if (end - begin !== size) {
    const problem = `${dtype} of shape [${shape.join(', ')}], in ${end - begin} bytes instead of ${size}`
    throw notSafetensors(what, `${tensor}, ${problem}`)
  }
  return { name, dtype, shape, begin, end }
}

/** @param {unknown} value @returns {value is number[]} whether it is an array of integers >= 0 */
const areCounts = (value) =>
  Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && n >= 0 && !Object.is(n, -0))

/**
 * Reads JSON one value at a time. JSON.parse would build all of it first: 95 MB of nested braces take it 33 s
 * and 3.4 GB. It would also keep the last of two values with one name, and other readers the first: two
 * programs would read different tensors from one file.
 */
class Reader {
  /** @type {string} */ #what
  /** @type {Uint8Array} */ #bytes
  #at = 0

  /** @param {string} what @param {Uint8Array} bytes */
  constructor(what, bytes) {
    this.#what = what
    this.#bytes = bytes
    if (this.#char() !== '{') throw notSafetensors(what, 'a header that does not begin with {')
  }

  /** Whether an object comes next. */
  isAtObject() {
    return this.#next() === '{'
  }

  /** @param {(name: string) => void} readValue reads the value of a name */
  object(readValue) {
    const names = new Set()
    this.#list('{', '}', () => {
      const name = this.#string()
      if (names.has(name)) throw notSafetensors(this.#what, `a header with ${describe(name)} twice`)
      names.add(name)
      this.#take(':')
      readValue(name)
    })
  }

  /** @returns {unknown} a string, a number, true, false, null, or an array of them */
  value() {
    if (this.#next() !== '[') return this.#scalar()
    /** @type {unknown[]} */
    const values = []
    this.#list('[', ']', () => {
      if (values.length === MAX_AXES) {
        throw notSafetensors(this.#what, `a header with a list of more than ${MAX_AXES} values`)
      }
      values.push(this.#scalar())
    })
    return values
  }

  /** Only white space may come next. */
  end() {
    if (this.#next() !== '') throw this.#notJSON()
  }

  /** @param {string} open @param {string} close @param {() => void} readItem */
  #list(open, close, readItem) {
    this.#take(open)
    if (this.#next() === close) {
      this.#at++
      return
    }
    readItem()
    while (this.#next() === ',') {
      this.#at++
      readItem()
    }
    this.#take(close)
  }

  /** @returns {unknown} */
  #scalar() {
    const first = this.#next()
    if (first === '"') return this.#string()
    if (first === '{' || first === '[') {
      throw notSafetensors(this.#what, 'a header that is nested deeper than the format')
    }
    const begin = this.#at
    while (this.#at - begin < MAX_TOKEN && /[-+.\w]/.test(this.#char())) this.#at++
    return this.#parse(begin)
  }

  /** @returns {string} */
  #string() {
    if (this.#next() !== '"') throw this.#notJSON()
    const begin = this.#at
    // A quote ends the string unless an odd number of backslashes stands before it.
    for (let isEscaped = true; isEscaped;) {
      const quote = this.#bytes.indexOf(QUOTE, this.#at + 1)
      if (quote < 0) throw this.#notJSON()
      let before = quote
      while (this.#bytes[before - 1] === BACKSLASH) before--
      isEscaped = (quote - before) % 2 === 1
      this.#at = quote
    }
    this.#at++
    return /** @type {string} */ (this.#parse(begin))
  }

  /** @param {number} begin of a string or a token that ends here @returns {unknown} */
  #parse(begin) {
    try {
      return JSON.parse(decodeUtf8(this.#bytes.subarray(begin, this.#at)))
    } catch (cause) {
      throw this.#notJSON(cause)
    }
  }

  /** @param {string} expected */
  #take(expected) {
    if (this.#next() !== expected) throw this.#notJSON()
    this.#at++
  }

  /** @returns {string} the next character that is no white space; '' at the end */
  #next() {
    while (WHITE_SPACE.includes(this.#bytes[this.#at])) this.#at++
    return this.#char()
  }

  /** @returns {string} the character here, in ASCII; '' at the end */
  #char() {
    return this.#at < this.#bytes.length ? String.fromCharCode(this.#bytes[this.#at]) : ''
  }

  /** @param {unknown} [cause] */
  #notJSON(cause) {
    return notSafetensors(this.#what, 'a header that is not JSON in UTF-8', cause)
  }
}
