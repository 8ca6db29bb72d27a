// Reads the bytes of whatever the user has: bytes, a Blob, a Response, a stream, a file handle, an iterable.

import { type SignalLike, describe, isPlainObject } from '../check.ts'
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
export function openSources(source: unknown): Promise<BufferedReader>[] {
  if (!areParts(source)) return [openFile(source)]
  const { index, open } = source
  if (typeof open !== 'function') {
    const files = Object.entries(source).filter(([name]) => !name.endsWith('.json'))
    return files.length > 0 ? files.map(([, file]) => openFile(file)) : [openFile(source)]
  }
  const names = new Set(Object.values(Object(Object(index).weight_map)))
  if (names.size === 0) throw fail('VALUE', 'source.index', 'have a weight_map', describe(index))
  return Array.from(names, async (name) => new BufferedReader(await open(name)))
}

const openFile = async (file: unknown): Promise<BufferedReader> => new BufferedReader(file)

const areParts = (source: unknown): source is Record<string, unknown> =>
  isPlainObject(source) &&
  !['read', 'getReader', 'slice', 'ok'].some((name) => Object.hasOwn(source, name)) &&
  !(Symbol.asyncIterator in source)

/** Closes the files that are open, and the others as soon as they open. */
export function closeSources(opening: readonly Promise<BufferedReader>[], reason: unknown): void {
  for (const file of opening) file.then((reader) => reader.close(reason)).catch(() => {})
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

/** The fewest bytes that a source is asked for. */
const AHEAD = 2 ** 16

/** Reads a source as the readers of files ask for it. */
export class BufferedReader {
  #source
  #onBytes: (bytes: number) => void = () => {}
  #signal: SignalLike | undefined
  #memory: Uint8Array = new Uint8Array(0)
  /** What was read and is not used yet, in `#memory`. */
  #rest: Uint8Array = new Uint8Array(0)

  /** @throws {GptLayersError} TYPE, VALUE; NETWORK for a response that failed */
  constructor(source: unknown) {
    this.#source = sourceOf(source)
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
      if (this.#rest.length < step.value) await this.#fill(step.value)
      const part = this.#rest.subarray(0, step.value)
      this.#rest = this.#rest.subarray(part.length)
      this.#onBytes(part.length)
      this.#signal?.throwIfAborted()
      step = reading.next(part)
    }
    return step.value
  }

  /** The next bytes, which stay. */
  async peek(bytes: number): Promise<Uint8Array> {
    await this.#fill(bytes)
    return this.#rest.subarray(0, bytes)
  }

  /** Reads on until there are so many bytes, or the source ends. They begin where `#memory` does: aligned. */
  async #fill(bytes: number): Promise<void> {
    const wanted = Math.max(bytes, AHEAD)
    if (this.#memory.length < wanted) this.#memory = newBytes(wanted)
    this.#memory.set(this.#rest)
    let length = this.#rest.length
    while (length < bytes) {
      const target = this.#memory.subarray(length, wanted)
      const count = await orAborted(this.#source.read(target), this.#signal)
      if (count === 0) break
      length += count
    }
    this.#rest = this.#memory.subarray(0, length)
  }
}

interface Source {
  /** Fills the beginning of the target, and returns the number of bytes: 0 only at the end. */
  read: (target: Uint8Array) => Promise<number>
  /** lets go of a stream; cancels one that has more to give */
  close: (reason?: unknown) => void
}

function sourceOf(source: unknown): Source {
  if (isBytes(source)) return fromBytes(source)
  if (typeof source !== 'object' || source === null) throw wrongSource(source)
  if (has<StreamLike>(source, 'getReader')) return fromStream(source)
  if (isResponse(source)) return fromResponse(source)
  if (has<BlobLike>(source, 'slice', 'arrayBuffer')) return fromBlob(source)
  if (has<FileHandleLike>(source, 'read', 'stat')) return fromHandle(source)
  if (has<AsyncIterable<unknown>>(source, Symbol.asyncIterator)) return fromIterable(source)
  throw wrongSource(source)
}

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

/** @param readAt fills the beginning of the target with the bytes from a position on; returns their number */
function inOrder(readAt: (target: Uint8Array, position: number) => Promise<unknown>): Source {
  let position = 0
  return {
    async read(target) {
      const count = await readable('VALUE', () => readAt(target, position))
      if (!isCount(count) || count > target.length) {
        const expected = `read at most the ${target.length} bytes that it is asked for`
        throw fail('VALUE', 'source', expected, describe(count))
      }
      position += count
      return count
    },
    close() {},
  }
}

function fromBytes(source: Uint8Array | ArrayBuffer): Source {
  checkBytes('source', source)
  return inOrder(async (target, position) => {
    const part = checkBytes('source', source).subarray(position, position + target.length)
    target.set(part)
    return part.length
  })
}

const fromBlob = (blob: BlobLike): Source =>
  inOrder(async (target, position) => {
    const part = await blob.slice(position, position + target.length).arrayBuffer()
    const bytes = checkBytes('a part of source', part)
    target.set(bytes.subarray(0, target.length))
    return bytes.length
  })

// Not Node's readableWebStream: it locks the handle for ever, and reads from where the handle stands.
const fromHandle = (handle: FileHandleLike): Source =>
  inOrder(async (target, position) => {
    const read = await handle.read(target, 0, target.length, position)
    if (read === null) return 0 // Deno's at the end; otherwise Deno's gives the number alone
    return typeof read === 'object' ? read.bytesRead : read
  })

function fromResponse({ ok, status, body, headers }: ResponseLike): Source {
  const stream = body && fromStream(body)
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

function fromStream(stream: StreamLike): Source {
  let reader: ReaderLike
  try {
    reader = stream.getReader()
  } catch (cause) {
    const message = `source should be unread, got a stream that is locked or was read before`
    throw new GptLayersError('VALUE', message, { cause })
  }
  return fromChunks(
    () => reader.read(),
    async (reason) => {
      const canceled = reader.cancel(reason)
      reader.releaseLock()
      await canceled
    },
  )
}

function fromIterable(source: AsyncIterable<unknown>): Source {
  const chunks = source[Symbol.asyncIterator]()
  return fromChunks(
    () => chunks.next(),
    async () => chunks.return?.(),
  )
}

const MAX_EMPTY = 1000

function fromChunks(
  next: () => Promise<{ done?: boolean; value?: unknown }>,
  cancel: (reason: unknown) => Promise<unknown>,
): Source {
  let chunk: Uint8Array = new Uint8Array(0)
  let hasEnded = false
  return {
    async read(target) {
      for (let chunks = 0; chunk.length === 0 && !hasEnded; chunks++) {
        // A source that answers at once lets no timer run, so that nobody could abort.
        if (chunks > MAX_EMPTY)
          throw fail('VALUE', 'source', 'give bytes', `${MAX_EMPTY} empty chunks in a row`)
        const { done, value } = await readable('NETWORK', next)
        if (done) hasEnded = true
        else chunk = checkBytes('a chunk of source', value)
      }
      const part = chunk.subarray(0, target.length)
      chunk = chunk.subarray(part.length)
      target.set(part)
      return part.length
    },
    close(reason) {
      cancel(reason).catch(() => {}) // nobody waits for it
    },
  }
}

async function readable<T>(code: 'NETWORK' | 'VALUE', read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof GptLayersError) throw cause
    const reason = cause instanceof Error ? cause.message : describe(cause)
    throw fail(code, 'source', 'be readable to its end', reason, cause)
  }
}
