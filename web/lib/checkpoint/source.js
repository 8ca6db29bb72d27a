import { describe } from '../check.js'
import { fail, GptLayersError } from '../errors.js'
import { checkBytes, isBytes } from '../typed.js'

/**
 * A ReadableStream of bytes.
 *
 * @typedef {object} StreamLike
 * @property {() => ReaderLike} getReader
 *
 * @typedef {object} ReaderLike
 * @property {() => Promise<{ done: boolean, value?: unknown }>} read
 * @property {(reason?: unknown) => Promise<void>} cancel
 * @property {() => void} releaseLock
 */

/**
 * What `fetch` gives.
 *
 * @typedef {object} ResponseLike
 * @property {boolean} ok
 * @property {number} status
 * @property {StreamLike | null} body
 */

/**
 * A Blob or a File.
 *
 * @typedef {object} BlobLike
 * @property {(begin: number, end: number) => { arrayBuffer(): Promise<ArrayBuffer> }} slice
 * @property {() => Promise<ArrayBuffer>} arrayBuffer
 */

/**
 * A FileHandle of Node's fs/promises. It is read from byte 0 on, and stays open.
 *
 * @typedef {object} FileHandleLike
 * @property {(buffer: Uint8Array, offset: number, length: number, position: number) =>
 *   Promise<{ bytesRead: number }>} read
 * @property {() => Promise<unknown>} stat
 */

/** What a model loads from. @typedef {BlobLike | ResponseLike | StreamLike | FileHandleLike | Uint8Array |
 * ArrayBuffer} FileSource */

const EXPECTED = 'a Blob, a File, a Response, a ReadableStream, a file handle of Node, or bytes'

/**
 * A file that is read from its begin to its end.
 *
 * @typedef {object} Source
 * @property {(target: Uint8Array) => Promise<number>} read fills the target, and returns the number of bytes:
 *   less than the target's only where the file ends
 * @property {(bytes: number) => Promise<number>} skip reads bytes that nobody wants
 * @property {(reason?: unknown) => void} close lets go of a stream; cancels one that has more to give
 */

/**
 * @param {unknown} source what the user gave
 * @returns {Source}
 * @throws {GptLayersError} TYPE; VALUE for what was read before; NETWORK for a response that failed
 */
export function openSource(source) {
  if (isBytes(source)) return new RandomAccess(fromBytes(source))
  if (typeof source !== 'object' || source === null) throw wrongSource(source)
  if (has(source, 'getReader')) return openStream(/** @type {any} */ (source))
  if ('ok' in source && 'body' in source) return openResponse(/** @type {any} */ (source))
  if (has(source, 'slice') && has(source, 'arrayBuffer')) {
    return new RandomAccess(fromBlob(/** @type {any} */ (source)))
  }
  if (has(source, 'read') && has(source, 'stat')) {
    return new RandomAccess(fromHandle(/** @type {any} */ (source)))
  }
  throw wrongSource(source)
}

/** @param {object} value @param {string} name @returns {boolean} whether it has a method of this name */
const has = (value, name) => typeof Reflect.get(value, name) === 'function'

/** @param {unknown} source */
const wrongSource = (source) => fail('TYPE', 'source', `be ${EXPECTED}`, describe(source))

/** @param {ResponseLike} response */
function openResponse({ ok, status, body }) {
  const stream = body && openStream(body)
  if (!ok) {
    stream?.close()
    const expected = 'source should be a response with a status from 200 to 299'
    throw new GptLayersError('NETWORK', `${expected}, got ${describe(status)}`)
  }
  if (stream) return stream
  throw fail('VALUE', 'source', 'be a response with a body', 'one without')
}

/** @param {StreamLike} stream */
function openStream(stream) {
  try {
    return new Streamed(stream.getReader())
  } catch (cause) {
    const message = `source should be unread, got a stream that is locked or was read before`
    throw new GptLayersError('VALUE', message, { cause })
  }
}

/**
 * Reads some bytes of a file: fewer than the target has only at the end.
 *
 * @typedef {(target: Uint8Array, position: number) => Promise<number>} ReadAt
 */

/** @param {unknown} source @returns {ReadAt} */
function fromBytes(source) {
  checkBytes('source', source)
  return async (target, position) => {
    const part = checkBytes('source', source).subarray(position, position + target.length)
    target.set(part)
    return part.length
  }
}

/** @param {BlobLike} blob @returns {ReadAt} */
const fromBlob = (blob) => async (target, position) => {
  const part = new Uint8Array(await blob.slice(position, position + target.length).arrayBuffer())
  target.set(part)
  return part.length
}

/** @param {FileHandleLike} handle stays open @returns {ReadAt} */
const fromHandle = (handle) => async (target, position) => {
  let length = 0
  while (length < target.length) {
    const { bytesRead } = await handle.read(target, length, target.length - length, position + length)
    if (bytesRead === 0) break
    if (!Number.isInteger(bytesRead) || bytesRead < 0 || bytesRead > target.length - length) {
      const given = `bytesRead ${describe(bytesRead)}`
      throw fail('VALUE', 'source', 'read at most what it is asked', given)
    }
    length += bytesRead
  }
  return length
}

/** @implements {Source} */
class RandomAccess {
  #readAt
  #position = 0

  /** @param {ReadAt} readAt */
  constructor(readAt) {
    this.#readAt = readAt
  }

  /** @param {Uint8Array} target */
  async read(target) {
    const length = await readable('VALUE', () => this.#readAt(target, this.#position))
    this.#position += length
    return length
  }

  /** @param {number} bytes */
  async skip(bytes) {
    if (bytes === 0) return 0
    this.#position += bytes - 1
    return bytes - 1 + (await this.read(new Uint8Array(1))) // the last one, to see that it is there
  }

  close() {}
}

/** @implements {Source} */
class Streamed {
  #reader
  /** @type {Uint8Array} */ #rest = new Uint8Array(0)
  #ended = false

  /** @param {ReaderLike} reader */
  constructor(reader) {
    this.#reader = reader
  }

  /** @param {Uint8Array} target */
  async read(target) {
    let length = 0
    while (length < target.length && (await this.#fill())) {
      const part = this.#take(target.length - length)
      target.set(part, length)
      length += part.length
    }
    return length
  }

  /** @param {number} bytes */
  async skip(bytes) {
    let length = 0
    while (length < bytes && (await this.#fill())) length += this.#take(bytes - length).length
    return length
  }

  /** @param {unknown} [reason] */
  close(reason) {
    if (!this.#ended) this.#cancel(reason)
    try {
      this.#reader.releaseLock()
    } catch {
      // a stream of the user's own may refuse
    }
  }

  /** @returns {Promise<boolean>} whether there are bytes in `#rest` */
  async #fill() {
    while (this.#rest.length === 0 && !this.#ended) {
      const { done, value } = await readable('NETWORK', () => this.#reader.read())
      if (done) this.#ended = true
      else this.#rest = checkBytes('a chunk of source', value)
    }
    return this.#rest.length > 0
  }

  /** @param {number} bytes the most @returns {Uint8Array} */
  #take(bytes) {
    const part = this.#rest.subarray(0, bytes)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  /** @param {unknown} reason */
  #cancel(reason) {
    this.#ended = true
    try {
      Promise.resolve(this.#reader.cancel(reason)).catch(() => {})
    } catch {
      // nobody waits for it
    }
  }
}

/**
 * @template T
 * @param {'NETWORK' | 'VALUE'} code
 * @param {() => Promise<T>} read
 * @returns {Promise<T>}
 * @throws {GptLayersError} code
 */
async function readable(code, read) {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof GptLayersError) throw cause
    const reason = cause instanceof Error ? cause.message : describe(cause)
    throw fail(code, 'source', 'be readable to its end', reason, cause)
  }
}
