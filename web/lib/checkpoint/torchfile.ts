// Files of torch.save, from PyTorch 1.6 on: a ZIP archive without compression.
//
// | entry | content |
// | --- | --- |
// | archive/data.pkl | a pickle, protocol 2: what was saved, in which a tensor names its storage |
// | archive/byteorder | little, or big; since PyTorch 2.1 |
// | archive/data/0, archive/data/1 ... | the storages: numbers, little-endian |
// | archive/version and others | not needed |
//
// The entries are read in their order. Before the data of an entry its length may be unknown: a descriptor
// after the data has it. The pickle says itself where it ends, and how long the storages are.
//
// A pickle is a program for a machine with a stack, which may call any function of Python. This one makes
// dicts, lists, numbers, strings and tensors, and calls nothing. Every other name is refused.

import type { Info } from '../layers/names.ts'
import { describe, MAX_AXES } from '../check.ts'
import { type GptLayersError, fail } from '../errors.ts'
import { type Sink, writeAll } from '../tensor/slabs.ts'
import { bytesOf, toFloat32, toInt8 } from './dtypes.ts'
import { type Reading, type TensorFile, newBytes, readSlabs, skip } from './file.ts'

/** The dtypes of the storages, by PyTorch's names of them. */
const STORAGES: Readonly<Record<string, string>> = {
  DoubleStorage: 'F64',
  FloatStorage: 'F32',
  HalfStorage: 'F16',
  BFloat16Storage: 'BF16',
  LongStorage: 'I64',
  IntStorage: 'I32',
  ShortStorage: 'I16',
  CharStorage: 'I8',
  ByteStorage: 'U8',
  BoolStorage: 'BOOL',
}

/** The longest pickle, in bytes. GPT-2's has 40,000. */
const MAX_PICKLE = 2 ** 26

/** The most values that a pickle may make. */
const MAX_VALUES = 2 ** 20

/** A tensor as its pickle describes it: a view of a storage. */
class TensorView {
  readonly storage: Storage
  readonly offset: number
  readonly shape: readonly number[]
  readonly strides: readonly number[]

  constructor(storage: Storage, offset: number, shape: readonly number[], strides: readonly number[]) {
    this.storage = storage
    this.offset = offset
    this.shape = shape
    this.strides = strides
  }

  /** Whether it is the whole storage, row-major. */
  get isWhole(): boolean {
    let step = 1
    const isRowMajor = this.shape.reduceRight((is, size, i) => {
      const fits = size === 1 || this.strides[i] === step
      step *= size
      return is && fits
    }, true)
    return isRowMajor && this.offset === 0 && step === this.storage.length
  }
}

/** The numbers of one or more tensors. */
interface Storage {
  key: string
  dtype: string
  length: number
}

/** A name of Python, such as `collections.OrderedDict`. */
class Global {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

const damaged = (what: string, problem: string): GptLayersError =>
  fail('VALUE', what, 'be a file of torch.save', problem)

const isTorchScript = (what: string): GptLayersError =>
  fail('UNSUPPORTED', what, 'have a state dict: save model.state_dict()', 'TorchScript')

/** Reads the model in a file. The other tensors, such as an optimizer's, are left out. */
export function* readTorchModel(what: string): Reading<TensorFile> {
  const { root, read, byteLength } = yield* readTorchFile(what)
  const { dict, above } = modelIn(root) ?? { dict: root, above: null }
  const views = dict instanceof Map ? tensorsOf(dict) : []
  const tensors = views.map(({ info }) => info)
  const stated = above?.get('model_args') // nanoGPT's
  return {
    tensors,
    stated: stated instanceof Map ? Object.fromEntries(stated) : {},
    byteLength,
    read: (sinkOf) => read(views, sinkOf),
  }
}

/** Reads all tensors in a file, also those in dicts and lists inside: `optimizer.state.0.exp_avg`. */
export function* readTorchTensors(what: string): Reading<TensorFile> {
  const { root, read, byteLength } = yield* readTorchFile(what)
  const views = tensorsIn(what, root)
  return {
    tensors: views.map(({ info }) => info),
    stated: {},
    byteLength,
    read: (sinkOf) => read(views, sinkOf),
  }
}

/** A tensor of the file under its name. */
interface Named {
  info: Info
  view: TensorView
}

function named(name: string, view: TensorView): Named {
  const { storage, offset, shape, strides } = view
  return {
    info: { name, dtype: storage.dtype, shape, values: [storage.key, offset, ...strides].join() },
    view,
  }
}

const tensorsOf = (dict: Map<unknown, unknown>): Named[] =>
  [...dict].flatMap(([name, view]) => (view instanceof TensorView ? [named(String(name), view)] : []))

/** The dict with a token embedding, and the dict above it. */
function modelIn(root: unknown) {
  const seen = new Set()
  const queue: { dict: unknown; above: Map<unknown, unknown> | null }[] = [{ dict: root, above: null }]
  for (const { dict, above } of queue) {
    if (!(dict instanceof Map) || seen.has(dict)) continue
    seen.add(dict)
    if ([...dict.keys()].some((name) => /(^|\.)(wte|tok_emb)\.weight$/.test(String(name))))
      return { dict, above }
    for (const value of dict.values()) queue.push({ dict: value, above: dict })
  }
  return null
}

function tensorsIn(what: string, root: unknown): Named[] {
  const found: Named[] = []
  const path = new Set()
  function walk(name: string, value: unknown): void {
    if (value instanceof TensorView) found.push(named(name, value))
    if (!(value instanceof Map) && !Array.isArray(value)) return
    if (path.has(value) || path.size > 100)
      throw damaged(what, 'dicts or lists that contain themselves, or are nested too deep')
    path.add(value)
    for (const [key, inside] of value.entries()) walk(name === '' ? String(key) : `${name}.${key}`, inside)
    path.delete(value)
    if (found.length > MAX_VALUES) throw damaged(what, 'too many tensors')
  }
  walk('', root)
  if (found.length === 0) throw damaged(what, `${describe(root)} without tensors`)
  const names = new Set()
  for (const { info } of found) {
    if (names.has(info.name)) throw damaged(what, `two tensors with the name ${describe(info.name)}`)
    names.add(info.name)
  }
  return found
}

/** Reads the archive up to the end of the pickle. */
function* readTorchFile(what: string) {
  let at = 0
  function* exactly(bytes: number): Reading<Uint8Array> {
    const got = yield bytes
    at += got.length
    if (got.length === bytes) return got
    throw damaged(what, `${at} bytes, which are not all of it`)
  }
  const entry = yield* readEntry(what, exactly)
  if (entry === null || !/(^|\/)data\.pkl$/.test(entry.name)) {
    if (entry?.name.includes('/data/')) throw isTorchScript(what)
    throw damaged(what, `a ZIP archive that begins with ${describe(entry?.name ?? '')} instead of data.pkl`)
  }
  const folder = entry.name.slice(0, -'data.pkl'.length)
  const begin = at
  const { root, storages } = yield* new Pickle(what, exactly).read()
  yield* endEntry(what, entry, at - begin, exactly)
  const sizeOf = ({ dtype, length }: Storage) => bytesOf(dtype, [length])
  const byteLength = [...storages.values()].reduce((sum, storage) => sum + sizeOf(storage), at)

  /** The numbers of a storage come once: all tensors that are views of it are written then. */
  function* read(views: readonly Named[], sinkOf: (info: Info) => Sink | null): Reading<void> {
    const needed: Map<Storage, Named[]> = new Map()
    for (const one of views) needed.set(one.view.storage, [...(needed.get(one.view.storage) ?? []), one])
    while (needed.size > 0) {
      const entry = yield* readEntry(what, exactly)
      if (entry === null) throw damaged(what, `no storage ${describe([...needed.keys()][0].key)}`)
      const name = entry.name.startsWith(folder) ? entry.name.slice(folder.length) : entry.name
      const storage = storages.get(name.replace(/^data\//, ''))
      if (!storage || !name.startsWith('data/')) {
        const content = yield* readText(what, entry, exactly)
        if (name !== 'byteorder' || content === 'little') continue
        throw fail('UNSUPPORTED', what, 'have little-endian numbers', describe(content))
      }
      const start = at
      yield* readStorage(storage, needed.get(storage) ?? [], sinkOf, exactly)
      yield* endEntry(what, entry, at - start, exactly)
      needed.delete(storage)
    }
  }
  return { root, read, byteLength }
}

/** What an entry of the archive begins with. */
interface Entry {
  name: string
  /** null where only the descriptor after the data has it */
  length: number | null
  hasDescriptor: boolean
}

type Exactly = (bytes: number) => Reading<Uint8Array>

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  new DataView(buffer, byteOffset, byteLength)
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes.slice())

/** Reads the header of the next entry; null where the entries end. */
function* readEntry(what: string, exactly: Exactly): Reading<Entry | null> {
  const header = viewOf((yield* exactly(30)).slice())
  const signature = header.getUint32(0, true)
  if (signature === 0x02014b50) return null // the directory
  if ((signature & 0xffff) === 0x0280) {
    throw fail(
      'UNSUPPORTED',
      what,
      'be in the format of PyTorch 1.6 or later: load it there and save it again',
      'an older one',
    )
  }
  if (signature !== 0x04034b50) throw damaged(what, 'a ZIP archive with bytes between its entries')
  const [flags, method, length] = [
    header.getUint16(6, true),
    header.getUint16(8, true),
    header.getUint32(22, true),
  ]
  const name = textOf(yield* exactly(header.getUint16(26, true)))
  yield* exactly(header.getUint16(28, true))
  if (method !== 0 || flags & 1) {
    throw fail(
      'UNSUPPORTED',
      what,
      'be as torch.save writes it, without compression',
      `${describe(name)} compressed or encrypted`,
    )
  }
  if (length === 0xffffffff) throw tooLong(what)
  const hasDescriptor = (flags & 8) !== 0
  return { name, length: hasDescriptor && length === 0 ? null : length, hasDescriptor }
}

const tooLong = (what: string) => fail('UNSUPPORTED', what, 'be a file of at most 4 GB', 'a longer one')

/** Reads what follows the data of an entry. */
function* endEntry(
  what: string,
  { name, length, hasDescriptor }: Entry,
  read: number,
  exactly: Exactly,
): Reading<void> {
  if (length !== null && length !== read)
    throw damaged(what, `${describe(name)} of ${length} bytes instead of ${read}`)
  if (!hasDescriptor) return
  const descriptor = viewOf(yield* exactly(16))
  const sizes = [descriptor.getUint32(8, true), descriptor.getUint32(12, true)]
  if (descriptor.getUint32(0, true) === 0x08074b50 && sizes.every((size) => size === read)) return
  if (sizes[0] === read && sizes[1] === 0) throw tooLong(what) // sizes of 64 bits
  throw damaged(what, `${describe(name)} that does not end after ${read} bytes`)
}

/** The longest entry that is neither the pickle nor a storage. */
const MAX_TEXT = 1000

function* readText(what: string, entry: Entry, exactly: Exactly): Reading<string> {
  const text: number[] = []
  if (entry.length !== null) {
    const bytes = entry.length > MAX_TEXT ? yield* skip(entry.length, exactly) : yield* exactly(entry.length)
    if (bytes) text.push(...bytes)
    yield* endEntry(what, entry, entry.length, exactly)
    return String.fromCharCode(...text)
  }
  // Up to a descriptor with this length.
  while (text.length < MAX_TEXT) {
    text.push(...(yield* exactly(1)))
    const length = text.length - 16
    const { 0: p, 1: k, 2: a, 3: b, 8: low, 9: high } = text.slice(-16)
    if (p === 0x50 && k === 0x4b && a === 7 && b === 8 && low + 256 * high === length) {
      return String.fromCharCode(...text.slice(0, length))
    }
  }
  throw damaged(what, `an entry ${describe(entry.name)}`)
}

/** Reads a storage into all its views. */
function* readStorage(
  storage: Storage,
  views: readonly Named[],
  sinkOf: (info: Info) => Sink | null,
  exactly: Exactly,
): Reading<void> {
  const { dtype, length, key } = storage
  const used = views.flatMap(({ info, view }) => {
    const sink = sinkOf(info)
    return sink ? [{ info, view, sink }] : []
  })
  if (used.length === 0) return yield* skip(bytesOf(dtype, [length]), exactly)
  const [{ info, view, sink }] = used
  if (used.length === 1 && view.isWhole) return yield* readSlabs(info, sink, exactly)
  const bytes = newBytes(bytesOf(dtype, [length]))
  for (let at = 0; at < bytes.length; at += PART) {
    const part = yield* exactly(Math.min(PART, bytes.length - at))
    bytes.set(part, at)
  }
  for (const { view, sink } of used) {
    const values = sink.isRaw && dtype === 'I8' ? toInt8(bytes) : toFloat32(key, dtype, bytes)
    writeAll(view.shape, sink, view.isWhole ? values : elementsOf(view, values))
  }
}

/** The bytes of a storage that are read at once. */
const PART = 2 ** 22

/** The elements of a view, row-major. */
function elementsOf({ offset, shape, strides }: TensorView, values: Float32Array | Int8Array) {
  const size = shape.reduce((product, n) => product * n, 1)
  const elements = values instanceof Int8Array ? new Int8Array(size) : new Float32Array(size)
  const index = shape.map(() => 0)
  for (let i = 0, at = offset; i < size; i++) {
    elements[i] = values[at]
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += strides[axis]
      if (++index[axis] < shape[axis]) break
      at -= strides[axis] * shape[axis]
      index[axis] = 0
    }
  }
  return elements
}

/** The machine that a pickle is a program for. */
class Pickle {
  #what
  #exactly
  #stack: unknown[] = []
  /** Where in the stack a group of values begins. */
  #marks: number[] = []
  #memo: Map<number, unknown> = new Map()
  #storages: Map<string, Storage> = new Map()
  #bytes = 0

  constructor(what: string, exactly: Exactly) {
    this.#what = what
    this.#exactly = exactly
  }

  *read(): Reading<{ root: unknown; storages: Map<string, Storage> }> {
    for (;;) {
      const code = String.fromCharCode(...(yield* this.#take(1)))
      if (code === '.') return { root: this.#pop(), storages: this.#storages }
      yield* this.#run(code)
      if (this.#stack.length + this.#marks.length + this.#memo.size > MAX_VALUES) {
        throw this.#damaged(`a pickle of more than ${MAX_VALUES} values`)
      }
    }
  }

  /** Runs an instruction. https://github.com/python/cpython/blob/main/Lib/pickletools.py has them all. */
  *#run(code: string): Reading<void> {
    switch (code) {
      case '\x80': {
        const [protocol] = yield* this.#take(1)
        if (protocol > 5) throw this.#damaged(`pickle protocol ${protocol}`)
        return
      }
      case '\x95': // frame
        return void (yield* this.#take(8))
      case '(':
        return void this.#marks.push(this.#stack.length)
      case '0':
        return void this.#pop()
      case 'N':
        return this.#push(null)
      case '\x88':
        return this.#push(true)
      case '\x89':
        return this.#push(false)
      case 'K':
        return this.#push((yield* this.#take(1))[0])
      case 'M':
        return this.#push(viewOf(yield* this.#take(2)).getUint16(0, true))
      case 'J':
        return this.#push(viewOf(yield* this.#take(4)).getInt32(0, true))
      case '\x8a':
        return this.#push(integer(yield* this.#take((yield* this.#take(1))[0])))
      case 'G':
        return this.#push(viewOf(yield* this.#take(8)).getFloat64(0))
      case 'X':
        return this.#push(textOf(yield* this.#take(viewOf(yield* this.#take(4)).getUint32(0, true))))
      case '\x8c':
        return this.#push(textOf(yield* this.#take((yield* this.#take(1))[0])))
      case ')':
        return this.#push([])
      case '\x85':
        return this.#push(this.#popMany(1))
      case '\x86':
        return this.#push(this.#popMany(2))
      case '\x87':
        return this.#push(this.#popMany(3))
      case 't':
        return this.#push(this.#popGroup())
      case ']':
        return this.#push([])
      case 'a':
        return this.#append(this.#popMany(1))
      case 'e':
        return this.#append(this.#popGroup())
      case '}':
        return this.#push(new Map())
      case 's':
        return this.#setItems(this.#popMany(2))
      case 'u':
        return this.#setItems(this.#popGroup())
      case 'q':
        return this.#put((yield* this.#take(1))[0])
      case 'r':
        return this.#put(viewOf(yield* this.#take(4)).getUint32(0, true))
      case '\x94':
        return this.#put(this.#memo.size)
      case 'h':
        return this.#get((yield* this.#take(1))[0])
      case 'j':
        return this.#get(viewOf(yield* this.#take(4)).getUint32(0, true))
      case 'c':
        return this.#global(yield* this.#line(), yield* this.#line())
      case '\x93': {
        const [module, name] = this.#popMany(2)
        return this.#global(String(module), String(name))
      }
      case 'Q':
        return this.#push(this.#storage(this.#pop()))
      case 'R': {
        const [called, args] = this.#popMany(2)
        return this.#push(this.#make(called, args))
      }
      case 'b': // attributes of an OrderedDict, such as _metadata
        this.#pop()
        if (this.#top() instanceof Map) return
        throw this.#damaged(`attributes of ${describe(this.#top())}`)
      default:
        throw this.#damaged(`the pickle opcode 0x${code.charCodeAt(0).toString(16)}`)
    }
  }

  #damaged(problem: string): GptLayersError {
    return damaged(this.#what, problem)
  }

  *#take(bytes: number): Reading<Uint8Array> {
    this.#bytes += bytes
    if (this.#bytes > MAX_PICKLE) throw this.#damaged(`a pickle of more than ${MAX_PICKLE} bytes`)
    return yield* this.#exactly(bytes)
  }

  *#line(): Reading<string> {
    let line = ''
    for (;;) {
      const letter = textOf(yield* this.#take(1))
      if (letter === '\n') return line
      line += letter
      if (line.length > 1000) throw this.#damaged('a name of more than 1000 letters')
    }
  }

  #push(value: unknown): void {
    this.#stack.push(value)
  }

  #top(): unknown {
    if (this.#stack.length > (this.#marks.at(-1) ?? 0)) return this.#stack.at(-1)
    throw this.#damaged('a pickle that takes what is not there')
  }

  #pop(): unknown {
    const value = this.#top()
    this.#stack.pop()
    return value
  }

  #popMany(count: number): unknown[] {
    return Array.from({ length: count }, () => this.#pop()).reverse()
  }

  #popGroup(): unknown[] {
    const mark = this.#marks.pop()
    if (mark === undefined) throw this.#damaged('a pickle that takes what is not there')
    return this.#stack.splice(mark)
  }

  #put(at: number): void {
    if (at > MAX_VALUES) throw this.#damaged(`a value at ${at} of the memo`)
    this.#memo.set(at, this.#top())
  }

  #get(at: number): void {
    if (!this.#memo.has(at))
      throw this.#damaged(`a pickle that takes value ${at} of the memo, which is not there`)
    this.#push(this.#memo.get(at))
  }

  #append(values: unknown[]): void {
    const list = this.#top()
    if (!Array.isArray(list)) throw this.#damaged('elements of what is no list')
    for (const value of values) list.push(value)
  }

  #setItems(values: unknown[]): void {
    const dict = this.#top()
    if (!(dict instanceof Map) || values.length % 2) throw this.#damaged('items of what is no dict')
    for (let i = 0; i < values.length; i += 2) {
      const key = values[i]
      if (typeof key === 'object') throw this.#damaged(`a dict with the key ${describe(key)}`)
      dict.set(key, values[i + 1])
    }
  }

  #global(module: string, name: string): void {
    const full = `${module}.${name}`
    const isKnown = Object.hasOwn(MAKERS, full) || DTYPE.test(full) || storageDtype(full) !== null
    if (isKnown) return this.#push(new Global(full))
    if (module.startsWith('__torch__')) throw isTorchScript(this.#what)
    throw this.#damaged(
      `the name ${describe(full)}, which could be a program: save model.state_dict() instead`,
    )
  }

  #make(called: unknown, args: unknown): unknown {
    const name = called instanceof Global ? called.name : ''
    const make = Object.hasOwn(MAKERS, name) && Array.isArray(args) ? MAKERS[name] : null
    const made = make?.(args as unknown[]) ?? null
    if (made !== null) return made
    const given = Array.isArray(args) ? args.slice(0, 4) : []
    const texts = given.map((arg) => (isStorage(arg) ? `a storage of ${arg.length} values` : describe(arg)))
    throw this.#damaged(`${name}(${texts.join(', ')})`)
  }

  /** @param id ('storage', torch.FloatStorage, key, device, length) */
  #storage(id: unknown): Storage {
    const [kind, type, key, , length] = Array.isArray(id) ? id : []
    const dtype = type instanceof Global ? storageDtype(type.name) : null
    if (kind !== 'storage' || typeof key !== 'string' || dtype === null || !isCount(length)) {
      throw this.#damaged(`a storage of ${describe(length)} values`)
    }
    if (bytesOf(dtype, [length]) > 2 ** 32) throw tooLong(this.#what)
    const known = this.#storages.get(key) ?? { key, dtype, length }
    if (known.dtype !== dtype || known.length !== length)
      throw this.#damaged(`two descriptions of storage ${describe(key)}`)
    this.#storages.set(key, known)
    return known
  }
}

const isCount = (n: unknown): n is number => Number.isSafeInteger(n) && Number(n) >= 0
const areCounts = (list: unknown): list is number[] =>
  Array.isArray(list) && list.length <= MAX_AXES && list.every(isCount)

/** The dtype of `torch.FloatStorage`, and of its like. */
function storageDtype(name: string): string | null {
  const [module, type] = name.split('.')
  return module === 'torch' && Object.hasOwn(STORAGES, type) ? STORAGES[type] : null
}

/** @param bytes little-endian, with a sign */
function integer(bytes: Uint8Array): number {
  const value = bytes.reduceRight((value, byte) => 256n * value + BigInt(byte), 0n)
  return Number(BigInt.asIntN(8 * bytes.length, value))
}

/** A dtype, such as torch.float16. */
const DTYPE = /^torch\.(b?float|u?int)\d+$|^torch\.(bool|half|double|long|complex64)$/

/** What a pickle may call, and what we make instead; null for arguments that it does not take. */
const MAKERS: Readonly<Record<string, (args: unknown[]) => unknown>> = {
  'collections.OrderedDict': (args) => (args.length === 0 ? new Map() : null),
  'torch._utils._rebuild_tensor_v2': ([storage, offset, shape, strides]) =>
    tensorView(storage, offset, shape, strides),
  'torch._utils._rebuild_parameter': ([tensor]) => (tensor instanceof TensorView ? tensor : null),
  'torch.Size': ([sizes]) => (areCounts(sizes) ? sizes : null),
  'torch.device': ([name]) => name,
}

/** A view that lies within its storage; null for any other. */
function tensorView(storage: unknown, offset: unknown, shape: unknown, strides: unknown): TensorView | null {
  if (!isStorage(storage) || !isCount(offset) || !areCounts(shape) || !areCounts(strides)) return null
  if (shape.length !== strides.length) return null
  const isEmpty = shape.includes(0)
  const last = shape.reduce((last, size, i) => last + (size - 1) * strides[i], offset)
  return isEmpty || last < storage.length ? new TensorView(storage, offset, shape, strides) : null
}

const isStorage = (value: unknown): value is Storage =>
  typeof value === 'object' && value !== null && 'key' in value && 'dtype' in value
