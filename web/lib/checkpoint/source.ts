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

const EXPECTED = 'a Blob, a File, a Response, a ReadableStream, a file handle of Node, or bytes'

/** A file that is read from its begin to its end. */
export interface Source {
  /** fills the target, and returns the number of bytes: less than the target's only where the file ends */
  read: (target: Uint8Array) => Promise<number>
  /** reads bytes that nobody wants */
  skip: (bytes: number) => Promise<number>
  /** lets go of a stream; cancels one that has more to give */
  close: (reason?: unknown) => void
}

/**
 * @param source what the user gave
 * @throws {GptLayersError} TYPE; VALUE for what was read before; NETWORK for a response that failed
 */
export function openSource(source: unknown): Source {
  if (isBytes(source)) return new RandomAccess(fromBytes(source))
  if (typeof source !== 'object' || source === null) throw wrongSource(source)
  if (has<StreamLike>(source, 'getReader')) return openStream(source)
  if (isResponse(source)) return openResponse(source)
  if (has<BlobLike>(source, 'slice', 'arrayBuffer')) return new RandomAccess(fromBlob(source))
  if (has<FileHandleLike>(source, 'read', 'stat')) return new RandomAccess(fromHandle(source))
  throw wrongSource(source)
}

/** Whether a value has the methods of a T. */
const has = <T extends object>(value: object, ...methods: (keyof T)[]): value is T =>
  methods.every((name) => typeof Reflect.get(value, name) === 'function')

const isResponse = (value: object): value is ResponseLike => 'ok' in value && 'body' in value

const wrongSource = (source: unknown) => fail('TYPE', 'source', `be ${EXPECTED}`, describe(source))

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
      if (!Number.isInteger(bytesRead) || bytesRead < 0 || bytesRead > target.length - length) {
        throw fail('VALUE', 'source', 'read at most what it is asked', `bytesRead ${describe(bytesRead)}`)
      }
      length += bytesRead
    }
    return length
  }

class RandomAccess implements Source {
  #readAt
  #position = 0

  constructor(readAt: ReadAt) {
    this.#readAt = readAt
  }

  async read(target: Uint8Array): Promise<number> {
    const length = await readable('VALUE', () => this.#readAt(target, this.#position))
    this.#position += length
    return length
  }

  async skip(bytes: number): Promise<number> {
    if (bytes === 0) return 0
    this.#position += bytes - 1
    return bytes - 1 + (await this.read(new Uint8Array(1))) // the last one, to see that it is there
  }

  close(): void {}
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
      const part = this.#take(target.length - length)
      target.set(part, length)
      length += part.length
    }
    return length
  }

  async skip(bytes: number): Promise<number> {
    let length = 0
    while (length < bytes && (await this.#fill())) length += this.#take(bytes - length).length
    return length
  }

  close(reason?: unknown): void {
    if (!this.#ended) this.#cancel(reason)
    try {
      this.#reader.releaseLock()
    } catch {
      // a stream of the user's own may refuse
    }
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

  /** @param bytes the most to take */
  #take(bytes: number): Uint8Array {
    const part = this.#rest.subarray(0, bytes)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  #cancel(reason: unknown): void {
    this.#ended = true
    try {
      Promise.resolve(this.#reader.cancel(reason)).catch(() => {})
    } catch {
      // nobody waits for it
    }
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
