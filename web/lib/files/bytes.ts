import { type SignalLike, describe } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { checkBytes, isBytes } from '../typed.ts'
import { type Reading, isCount, newBytes } from './reading.ts'

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
  headers?: { get(name: string): string | null }
}

/** A Blob or a File. */
export interface BlobLike {
  slice: (begin: number, end: number) => { arrayBuffer(): Promise<ArrayBuffer> }
  arrayBuffer: () => Promise<ArrayBuffer>
}

/** A FileHandle of Node's fs/promises, which is read from byte 0 on, or a Deno.FsFile. It stays open. */
export interface FileHandleLike {
  read: (
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ) => Promise<{ bytesRead: number } | number | null>
  stat: () => Promise<unknown>
}

/** What gives the bytes of a file. An async iterable, such as a Readable of Node, gives them in chunks. */
export type FileSource =
  BlobLike | ResponseLike | StreamLike | FileHandleLike | AsyncIterable<Uint8Array> | Uint8Array | ArrayBuffer

/** A file, or the parts of one: by name, or Hugging Face's index and what opens a part. */
export type Sources =
  | FileSource
  | Record<string, FileSource>
  | { index: object; open: (name: string) => FileSource | Promise<FileSource> }

/** Opens the files that the user gave. Each may fail by itself. */
export function openSources(source: unknown): Promise<Input>[] {
  const isParts =
    typeof source === 'object' &&
    source !== null &&
    [null, Object.prototype].includes(Object.getPrototypeOf(source)) &&
    !['read', 'getReader', 'slice', 'ok'].some((name) => Object.hasOwn(source, name)) &&
    !(Symbol.asyncIterator in source)
  if (!isParts) return [newInput(source)]
  const { index, open } = source as Record<string, unknown>
  if (typeof open !== 'function') {
    const files = Object.entries(source).filter(([name]) => !name.endsWith('.json'))
    return files.length > 0 ? files.map(([, file]) => newInput(file)) : [newInput(source)]
  }
  const parts = new Set(Object.values(Object(Object(index).weight_map)))
  if (parts.size === 0) throw fail('VALUE', 'source.index', 'have a weight_map', describe(index))
  return Array.from(parts, async (name) => new Input(await open(name)))
}

const newInput = async (file: unknown): Promise<Input> => new Input(file)

/** Closes the files that are open, and the others when they come. */
export function closeSources(opening: readonly Promise<Input>[], reason: unknown): void {
  for (const one of opening) one.then((input) => input.close(reason)).catch(() => {})
}

/** Waits for a promise, which may never settle. Rejects with the signal's reason when that aborts. */
export async function orAborted<T>(promise: Promise<T>, signal: SignalLike | undefined): Promise<T> {
  let abort = () => {}
  const aborted = new Promise<never>((_, reject) => (abort = () => reject(signal?.reason)))
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  try {
    return await Promise.race([aborted, promise])
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** A file that is read from its begin to its end. */
interface Source {
  /** fills the target, and returns the number of bytes: less than the target's only where the file ends */
  read: (target: Uint8Array) => Promise<number>
  /** lets go of a stream; cancels one that has more to give */
  close: (reason?: unknown) => void
}

/**
 * @param source what the user gave
 * @throws {GptLayersError} VALUE for what was read before; NETWORK for a response that failed
 */
function openSource(source: unknown): Source {
  if (isBytes(source)) return inOrder(fromBytes(source))
  if (typeof source !== 'object' || source === null) throw wrongSource(source)
  if (has<StreamLike>(source, 'getReader')) return openStream(source)
  if (isResponse(source)) return openResponse(source)
  if (has<BlobLike>(source, 'slice', 'arrayBuffer')) return inOrder(fromBlob(source))
  if (has<FileHandleLike>(source, 'read', 'stat')) return inOrder(fromHandle(source))
  if (has<AsyncIterable<unknown>>(source, Symbol.asyncIterator)) return new Streamed(chunksOf(source))
  throw wrongSource(source)
}

/** Whether a value has the methods of a T. */
const has = <T extends object>(value: object, ...methods: (keyof T)[]): value is T =>
  methods.every((name) => typeof Reflect.get(value, name) === 'function')

const isResponse = (value: object): value is ResponseLike => 'ok' in value && 'body' in value

function wrongSource(source: unknown): GptLayersError {
  if (typeof source === 'string') {
    const page = 'fromPretrained(await fetch(url)) for a URL'
    const node = "fromPretrained(createReadStream(path)), from 'node:fs', for a path"
    return fail('TYPE', 'source', `give the bytes: ${page}, ${node}`, describe(source))
  }
  const streams = 'a ReadableStream, an async iterable of bytes'
  const expected = `a Blob, a File, a Response, ${streams}, a file handle of Node or Deno, or bytes`
  return fail('TYPE', 'source', `be ${expected}`, describe(source))
}

function openResponse({ ok, status, body, headers }: ResponseLike): Streamed {
  const stream = body && openStream(body)
  if (!ok) {
    stream?.close()
    const expected = 'source should be a response with a status from 200 to 299'
    throw new GptLayersError('NETWORK', `${expected}, got ${describe(status)}`)
  }
  const type = headers?.get('content-type') ?? ''
  if (type.includes('text/html')) {
    stream?.close()
    throw fail('VALUE', 'source', 'be a file', `a page of HTML: content-type ${describe(type)}`)
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
    const part = await blob.slice(position, position + target.length).arrayBuffer()
    const bytes = checkBytes('a part of source', part)
    target.set(bytes.subarray(0, target.length))
    return bytes.length
  }

/** @param handle stays open */
const fromHandle =
  (handle: FileHandleLike): ReadAt =>
  async (target, position) => {
    let length = 0
    while (length < target.length) {
      const rest = target.subarray(length)
      const read = await handle.read(rest, 0, rest.length, position + length)
      // Deno's gives the number alone, or null at the end.
      if (read === null) break
      const bytesRead = checkRead(typeof read === 'object' ? read.bytesRead : read, rest.length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return length
  }

/** @returns how many bytes a source says that it has read */
function checkRead(bytesRead: unknown, asked: number): number {
  if (isCount(bytesRead) && bytesRead <= asked) return bytesRead
  throw fail('VALUE', 'source', `read at most the ${asked} bytes that it is asked for`, describe(bytesRead))
}

/** An async iterable as a reader. */
function chunksOf(source: AsyncIterable<unknown>): ReaderLike {
  const chunks = source[Symbol.asyncIterator]()
  return {
    async read() {
      const { done = false, value } = await chunks.next()
      return { done, value }
    },
    async cancel() {
      await chunks.return?.()
    },
    releaseLock() {},
  }
}

function inOrder(readAt: ReadAt): Source {
  let position = 0
  return {
    async read(target: Uint8Array): Promise<number> {
      const length = checkRead(await readable('VALUE', () => readAt(target, position)), target.length)
      position += length
      return length
    },
    close() {},
  }
}

/** The most empty chunks in a row. */
const MAX_EMPTY = 1000

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
    for (let chunks = 0; this.#rest.length === 0 && !this.#ended; chunks++) {
      // A source that answers at once lets no timer run, so that nobody could abort.
      if (chunks > MAX_EMPTY)
        throw fail('VALUE', 'source', 'give bytes', `${MAX_EMPTY} empty chunks in a row`)
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

/** The bytes that are read at once, where less is needed. */
const AHEAD = 2 ** 16

/** Reads a source as readers of files ask for it. */
export class Input {
  #source
  #onBytes: (bytes: number) => void = () => {}
  #signal: SignalLike | undefined
  /** What was read and is not used yet. */
  #rest: Uint8Array = new Uint8Array(0)
  /** Memory for long parts. */
  #room: Uint8Array = new Uint8Array(0)

  constructor(source: unknown) {
    this.#source = openSource(source)
  }

  /** @param onBytes is told how many bytes were used */
  listen(signal: SignalLike | undefined, onBytes: (bytes: number) => void): void {
    this.#onBytes = onBytes
    this.#signal = signal
  }

  /** Lets go of the source; cancels a stream that has more to give. */
  close(reason?: unknown): void {
    this.#source.close(reason)
  }

  async run<T>(reading: Reading<T>): Promise<T> {
    let step = reading.next()
    while (!step.done) {
      const bytes = step.value
      if (this.#rest.length < bytes) await this.#fill(bytes)
      const part = this.#rest.subarray(0, bytes)
      this.#rest = this.#rest.subarray(part.length)
      this.#onBytes(part.length)
      this.#checkSignal()
      step = reading.next(part)
    }
    return step.value
  }

  /** The next bytes, which stay. */
  async peek(bytes: number): Promise<Uint8Array> {
    await this.#fill(bytes)
    return this.#rest.subarray(0, bytes)
  }

  /** Reads on until there are so many bytes, or the file ends. */
  async #fill(bytes: number): Promise<void> {
    this.#checkSignal()
    const wanted = Math.max(bytes, AHEAD)
    const known = this.#rest
    if (this.#room.length < wanted) this.#room = newBytes(wanted)
    const target = this.#room.subarray(0, wanted)
    target.set(known)
    const rest = target.subarray(known.length)
    const length = await orAborted(this.#source.read(rest), this.#signal)
    this.#checkSignal()
    this.#rest = target.subarray(0, known.length + length)
  }

  #checkSignal(): void {
    if (this.#signal?.aborted) throw this.#signal.reason
  }
}
