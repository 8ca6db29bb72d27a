import { describe } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { checkBytes, isBytes } from '../typed.ts'

export interface StreamLike {
  getReader: () => ReaderLike
}
export interface ReaderLike {
  read: () => Promise<{ done: boolean; value?: unknown }>
  cancel: (reason?: unknown) => Promise<void>
  releaseLock: () => void
}

/** What `fetch` gives. */
export interface ResponseLike {
  ok: boolean
  status: number
  body: StreamLike | null
}

/** A Blob or a File. */
export interface BlobLike {
  slice: (begin: number, end: number) => { arrayBuffer(): Promise<ArrayBuffer> }
  arrayBuffer: () => Promise<ArrayBuffer>
}

/** A FileHandle of Node's fs/promises. It is read from byte 0 on, and stays open. */
export interface FileHandleLike {
  read: (
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ) => Promise<{ bytesRead: number }>
  stat: () => Promise<unknown>
}

/** What a model loads from. */
export type FileSource = BlobLike | ResponseLike | StreamLike | FileHandleLike | Uint8Array | ArrayBuffer

/** A file that is read from its begin to its end. */
export interface Source {
  /** fills the target, and returns the number of bytes: less than the target's only where the file ends */
  read: (target: Uint8Array) => Promise<number>
  /** lets go of a stream; cancels one that has more to give */
  close: (reason?: unknown) => void
}

/**
 * @param source what the user gave
 * @throws {GptLayersError} TYPE; VALUE for what was read before; NETWORK for a response that failed
 */
export function openSource(source: unknown): Source {
  if (isBytes(source)) return inOrder(fromBytes(source))
  if (typeof source !== 'object' || source === null) throw wrongSource(source)
  if (has<StreamLike>(source, 'getReader')) return openStream(source)
  if (isResponse(source)) return openResponse(source)
  if (has<BlobLike>(source, 'slice', 'arrayBuffer')) return inOrder(fromBlob(source))
  if (has<FileHandleLike>(source, 'read', 'stat')) return inOrder(fromHandle(source))
  throw wrongSource(source)
}

/** Whether a value has the methods of a T. */
const has = <T extends object>(value: object, ...methods: (keyof T)[]): value is T =>
  methods.every((name) => typeof Reflect.get(value, name) === 'function')

const isResponse = (value: object): value is ResponseLike => 'ok' in value && 'body' in value

function wrongSource(source: unknown): GptLayersError {
  const expected = 'a Blob, a File, a Response, a ReadableStream, a file handle of Node, or bytes'
  return fail('TYPE', 'source', `be ${expected}`, describe(source))
}

function openResponse({ ok, status, body }: ResponseLike): Streamed {
  const stream = body && openStream(body)
  if (!ok) {
    stream?.close()
    const expected = 'source should be a response with a status from 200 to 299'
    throw new GptLayersError('NETWORK', `${expected}, got ${describe(status)}`)
  }
  if (stream) return stream
  throw fail('VALUE', 'source', 'be a response with a body', 'one without')
}

function openStream(stream: StreamLike): Streamed {
  try {
    return new Streamed(stream.getReader())
  } catch (cause) {
    const message = `source should be unread, got a stream that is locked or was read before`
    throw new GptLayersError('VALUE', message, { cause })
  }
}

/** Reads some bytes of a file: fewer than the target has only at the end. */
type ReadAt = (target: Uint8Array, position: number) => Promise<number>

function fromBytes(source: unknown): ReadAt {
  checkBytes('source', source)
  return async (target, position) => {
    const part = checkBytes('source', source).subarray(position, position + target.length)
    target.set(part)
    return part.length
  }
}

const fromBlob =
  (blob: BlobLike): ReadAt =>
  async (target, position) => {
    const part = new Uint8Array(await blob.slice(position, position + target.length).arrayBuffer())
    target.set(part)
    return part.length
  }

/** @param handle stays open */
const fromHandle =
  (handle: FileHandleLike): ReadAt =>
  async (target, position) => {
    let length = 0
    while (length < target.length) {
      const { bytesRead } = await handle.read(target, length, target.length - length, position + length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return length
  }

function inOrder(readAt: ReadAt): Source {
  let position = 0
  return {
    async read(target: Uint8Array): Promise<number> {
      const length = await readable('VALUE', () => readAt(target, position))
      position += length
      return length
    },
    close() {},
  }
}

class Streamed implements Source {
  #reader
  #rest: Uint8Array = new Uint8Array(0)
  #ended = false

  constructor(reader: ReaderLike) {
    this.#reader = reader
  }

  async read(target: Uint8Array): Promise<number> {
    let length = 0
    while (length < target.length && (await this.#fill())) {
      const part = this.#rest.subarray(0, target.length - length)
      this.#rest = this.#rest.subarray(part.length)
      target.set(part, length)
      length += part.length
    }
    return length
  }

  close(reason?: unknown): void {
    if (!this.#ended) this.#reader.cancel(reason).catch(() => {}) // nobody waits for it
    this.#ended = true
    this.#reader.releaseLock()
  }

  /** Reads on where `#rest` is empty. False at the end of the stream. */
  async #fill(): Promise<boolean> {
    while (this.#rest.length === 0 && !this.#ended) {
      const { done, value } = await readable('NETWORK', () => this.#reader.read())
      if (done) this.#ended = true
      else this.#rest = checkBytes('a chunk of source', value)
    }
    return this.#rest.length > 0
  }
}

/** @throws {GptLayersError} code */
async function readable<T>(code: 'NETWORK' | 'VALUE', read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof GptLayersError) throw cause
    const reason = cause instanceof Error ? cause.message : describe(cause)
    throw fail(code, 'source', 'be readable to its end', reason, cause)
  }
}
