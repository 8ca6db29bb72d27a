// The pickle in a file of torch.save. Its format:
// https://github.com/python/cpython/blob/main/Lib/pickletools.py
//
// A pickle is a program for a machine with a stack, which may call any function of Python. This one makes
// dicts, lists, numbers, strings and tensors, and calls nothing. Every other call gives an Opaque: its parts
// are kept, so that a tensor among them is noticed.

import { describe, shortName } from '../check.ts'
import { type GptLayersError, fail } from '../errors.ts'
import { sizeOf } from '../tensor/shape.ts'
import { bytesOf } from './dtypes.ts'
import { type Cursor, areCounts, isCount } from './reading.ts'

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
export const MAX_PICKLE = 2 ** 26

/** The longest name of a module or of a function in it. */
const MAX_LINE = 1000
const LINE_END = 0x0a

/** The most instructions of a pickle. GPT-2's has some thousands, a list of a million numbers a million. */
const MAX_STEPS = 2 ** 22

/** A tensor as its pickle describes it: a view of a storage. */
export class TensorView {
  readonly storage: Storage
  readonly offset: number
  readonly shape: readonly number[]
  readonly strides: readonly number[]

  /** @param shape is copied, as the strides are: the pickle goes on and may change its lists */
  constructor(storage: Storage, offset: number, shape: readonly number[], strides: readonly number[]) {
    this.storage = storage
    this.offset = offset
    this.shape = [...shape]
    this.strides = [...strides]
  }

  /** Whether it is the whole storage, row-major. */
  get isWhole(): boolean {
    const { storage, offset, shape, strides } = this
    const isRowMajor = shape.every((size, i) => size === 1 || strides[i] === sizeOf(shape.slice(i + 1)))
    return isRowMajor && offset === 0 && sizeOf(shape) === storage.length
  }
}

/** The numbers of one or more tensors. */
export class Storage {
  readonly key: string
  readonly dtype: string
  readonly length: number
  /** unique; two parts of a model may both have a storage with the key 0 */
  readonly id: number = ++storages

  constructor(key: string, dtype: string, length: number) {
    this.key = key
    this.dtype = dtype
    this.length = length
  }

  get byteLength(): number {
    return bytesOf(this.dtype, [this.length])
  }
}
let storages = 0

/** A name of Python, such as `collections.OrderedDict`. */
class Global {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** What a call of Python would give. Nothing is called. */
export class Opaque {
  /** the name of what would be called */
  readonly name: string
  /** its arguments, attributes, elements and items */
  readonly parts: unknown[]

  constructor(name: string, parts: unknown[]) {
    this.name = name
    this.parts = parts
  }
}

/** A value of a pickle, for an error message. */
export function words(value: unknown): string {
  if (value instanceof Global || value instanceof Opaque) return shortName(value.name)
  if (value instanceof Storage) return `a storage of ${value.length} values`
  return value instanceof TensorView ? 'a tensor' : describe(value)
}

export const isTorchScript = (what: string): GptLayersError =>
  fail('UNSUPPORTED', what, 'have a state dict: save model.state_dict()', 'TorchScript')

export const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  new DataView(buffer, byteOffset, byteLength)
export const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes.slice())

export const tooLong = (what: string) =>
  fail('UNSUPPORTED', what, 'be a file of at most 4 GB', 'a longer one')

/** What each instruction does, by its byte. Its argument, if any, follows that byte. */
const INSTRUCTIONS: Readonly<Record<string, (pickle: Pickle) => unknown>> = {
  '\x80': (pickle) => pickle.checkProtocol(pickle.uint(1)),
  '\x95': (pickle) => pickle.take(8), // a frame
  '(': (pickle) => pickle.mark(),
  0: (pickle) => pickle.pop(),
  N: (pickle) => pickle.push(null),
  '\x88': (pickle) => pickle.push(true),
  '\x89': (pickle) => pickle.push(false),
  K: (pickle) => pickle.push(pickle.uint(1)),
  M: (pickle) => pickle.push(pickle.uint(2)),
  J: (pickle) => pickle.push(integer(pickle.take(4))),
  '\x8a': (pickle) => pickle.push(integer(pickle.counted(1))),
  I: (pickle) => pickle.pushNumber(pickle.line()),
  L: (pickle) => pickle.pushNumber(pickle.line()),
  G: (pickle) => pickle.push(viewOf(pickle.take(8)).getFloat64(0)),
  X: (pickle) => pickle.push(textOf(pickle.counted(4))),
  '\x8c': (pickle) => pickle.push(textOf(pickle.counted(1))),
  B: (pickle) => pickle.push(bytesFrom(pickle.counted(4))),
  C: (pickle) => pickle.push(bytesFrom(pickle.counted(1))),
  '\x96': (pickle) => pickle.push(bytesFrom(pickle.counted(8))),
  ')': (pickle) => pickle.pushTuple([]),
  '\x85': (pickle) => pickle.pushTuple(pickle.popMany(1)),
  '\x86': (pickle) => pickle.pushTuple(pickle.popMany(2)),
  '\x87': (pickle) => pickle.pushTuple(pickle.popMany(3)),
  t: (pickle) => pickle.pushTuple(pickle.popGroup()),
  '\x91': (pickle) => pickle.pushTuple(pickle.popGroup()), // a frozenset
  ']': (pickle) => pickle.push([]),
  '\x8f': (pickle) => pickle.push([]), // a set
  a: (pickle) => pickle.append(pickle.popMany(1)),
  e: (pickle) => pickle.append(pickle.popGroup()),
  '\x90': (pickle) => pickle.append(pickle.popGroup()), // to a set
  '}': (pickle) => pickle.push(new Map()),
  s: (pickle) => pickle.setItems(pickle.popMany(2)),
  u: (pickle) => pickle.setItems(pickle.popGroup()),
  q: (pickle) => pickle.put(pickle.uint(1)),
  r: (pickle) => pickle.put(pickle.uint(4)),
  '\x94': (pickle) => pickle.put(pickle.memo.size),
  h: (pickle) => pickle.get(pickle.uint(1)),
  j: (pickle) => pickle.get(pickle.uint(4)),
  c: (pickle) => pickle.pushGlobal([pickle.line(), pickle.line()]),
  '\x93': (pickle) => pickle.pushGlobal(pickle.popMany(2)),
  Q: (pickle) => pickle.pushStorage(pickle.pop()),
  R: (pickle) => pickle.call(pickle.popMany(2)),
  '\x81': (pickle) => pickle.call(pickle.popMany(2)),
  '\x92': (pickle) => pickle.call(pickle.popMany(3)), // with named arguments
  b: (pickle) => pickle.setAttributes(pickle.pop()),
}

/** The bytes of instructions of protocol 0 that are not read. */
const OLD = 'FPSVdgilp'

export class Pickle {
  #cursor
  #bytes
  /** The offset of the next instruction or argument. */
  #at = 0
  #stack: unknown[] = []
  /** Where in the stack a group of values begins. */
  #marks: number[] = []
  readonly memo: Map<number, unknown> = new Map()
  #storages: Map<string, Storage> = new Map()

  /** @param cursor of the file, for errors */
  constructor(cursor: Cursor, bytes: Uint8Array) {
    this.#cursor = cursor
    this.#bytes = bytes
  }

  read(): { root: unknown; storages: Map<string, Storage> } {
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      const code = String.fromCharCode(this.uint(1))
      if (code === '.') return { root: this.pop(), storages: this.#storages }
      if (!Object.hasOwn(INSTRUCTIONS, code)) {
        const old = ' of protocol 0, which torch.load does not read either: save with protocol 2'
        const hex = code.charCodeAt(0).toString(16)
        throw this.#damaged(`the pickle opcode 0x${hex}${OLD.includes(code) ? old : ''}`)
      }
      INSTRUCTIONS[code](this)
    }
    throw this.#damaged(`a pickle of more than ${MAX_STEPS} instructions`)
  }

  #damaged(problem: string): GptLayersError {
    return this.#cursor.damaged(problem)
  }

  /** The next bytes. */
  take(count: number): Uint8Array {
    const begin = this.#at
    this.#at += count
    if (this.#at > this.#bytes.length) throw this.#damaged('a pickle that ends early')
    return this.#bytes.subarray(begin, this.#at)
  }

  /** @param bytes of a number, little-endian */
  uint(bytes: number): number {
    return this.take(bytes).reduceRight((value, byte) => 256 * value + byte, 0)
  }

  /** @param bytes of the length of an argument, which comes before it */
  counted(bytes: number): Uint8Array {
    return this.take(this.uint(bytes))
  }

  line(): string {
    const length = this.#bytes.indexOf(LINE_END, this.#at) - this.#at
    if (length > MAX_LINE) throw this.#damaged(`a line of more than ${MAX_LINE} letters`)
    const line = textOf(this.take(length < 0 ? Infinity : length))
    this.take(1)
    return line
  }

  checkProtocol(protocol: number): void {
    if (protocol > 5) throw this.#damaged(`pickle protocol ${protocol}`)
  }

  mark(): void {
    this.#marks.push(this.#stack.length)
  }

  push(value: unknown): void {
    this.#stack.push(value)
  }

  /** A tuple is frozen, so that the pickle cannot change it after it was checked. */
  pushTuple(values: unknown[]): void {
    this.push(Object.freeze(values))
  }

  /** @param line of protocol 1: 01 is true, 5 and 5L are 5 */
  pushNumber(line: string): void {
    if (!/^-?\d+L?$/.test(line)) throw this.#damaged(`the number ${describe(line)}`)
    this.push(line === '00' || line === '01' ? line === '01' : parseInt(line, 10))
  }

  #top(): unknown {
    if (this.#stack.length > (this.#marks.at(-1) ?? 0)) return this.#stack.at(-1)
    throw this.#damaged('a pickle that takes what is not there')
  }

  pop(): unknown {
    const value = this.#top()
    this.#stack.pop()
    return value
  }

  popMany(count: number): unknown[] {
    return Array.from({ length: count }, () => this.pop()).reverse()
  }

  popGroup(): unknown[] {
    const mark = this.#marks.pop()
    if (mark === undefined) throw this.#damaged('a pickle that takes what is not there')
    return this.#stack.splice(mark)
  }

  put(at: number): void {
    if (at > MAX_STEPS) throw this.#damaged(`a value at ${at} of the memo`)
    this.memo.set(at, this.#top())
  }

  get(at: number): void {
    if (!this.memo.has(at))
      throw this.#damaged(`a pickle that takes value ${at} of the memo, which is not there`)
    this.push(this.memo.get(at))
  }

  append(values: unknown[]): void {
    const top = this.#top()
    const list = top instanceof Opaque ? top.parts : top
    if (!Array.isArray(list) || Object.isFrozen(list)) throw this.#damaged('elements of what is no list')
    for (const value of values) list.push(value)
  }

  setItems(values: unknown[]): void {
    const top = this.#top()
    const dict = top instanceof Opaque ? new Map() : top
    if (!(dict instanceof Map) || values.length % 2) throw this.#damaged('items of what is no dict')
    for (let i = 0; i < values.length; i += 2) {
      const [key, value] = values.slice(i, i + 2)
      if (key instanceof TensorView) throw this.#damaged('a dict with a tensor as a key')
      // A key that is an object, such as a tuple, becomes a text. The object stays: it may have a tensor.
      const isName =
        typeof key === 'string' ? key.length <= MAX_LINE : typeof key !== 'object' || key === null
      if (isName) dict.set(key, value)
      else dict.set(`${words(key)} #${dict.size}`, [key, value])
    }
    if (top instanceof Opaque) top.parts.push(dict)
  }

  setAttributes(attributes: unknown): void {
    const object = this.#top()
    if (object instanceof Opaque) object.parts.push(attributes)
    else if (!(object instanceof Map)) throw this.#damaged(`attributes of ${words(object)}`)
    // Those of an OrderedDict, such as _metadata, are left out.
  }

  /** @param names of a module, and of what is in it */
  pushGlobal(names: unknown[]): void {
    const full = names.map((part) => (typeof part === 'string' && part.length <= MAX_LINE ? part : '?'))
    if (full[0].startsWith('__torch__')) throw isTorchScript(this.#cursor.what)
    this.push(new Global(full.join('.')))
  }

  /** @param parts what is called, and its arguments */
  call(parts: unknown[]): void {
    const [called, args] = parts
    if (!(called instanceof Global || called instanceof Opaque) || !Array.isArray(args)) {
      throw this.#damaged(`a call of ${words(called)}`)
    }
    const name = called instanceof Global ? called.name : ''
    const make = Object.hasOwn(MAKERS, name) ? MAKERS[name] : null
    const isKnown = make || name.startsWith('torch._utils._rebuild_')
    const made = isKnown ? (make?.(args) ?? null) : new Opaque(called.name, parts)
    if (made === null) throw this.#damaged(`${name}(${args.slice(0, 4).map(words).join(', ')})`)
    this.push(made)
  }

  /** @param id ('storage', torch.FloatStorage, key, device, length) */
  pushStorage(id: unknown): void {
    const parts = Array.isArray(id) ? id : [id]
    const [kind, type, key, , length] = parts
    if (kind !== 'storage' || !(type instanceof Global) || typeof key !== 'string') {
      const found = parts.slice(0, 5).map(words).join(', ')
      throw this.#damaged(`a persistent id (${found}), not ("storage", type, key, device, length)`)
    }
    const dtype = storageDtype(type.name)
    if (dtype === null || !isCount(length))
      throw this.#damaged(`${words(type)}, a storage of ${words(length)} values`)
    if (bytesOf(dtype, [length]) > 2 ** 32) throw tooLong(this.#cursor.what)
    const known = this.#storages.get(key) ?? new Storage(key, dtype, length)
    if (known.dtype !== dtype || known.length !== length)
      throw this.#damaged(`two descriptions of storage ${describe(key)}`)
    this.#storages.set(key, known)
    this.push(known)
  }
}

/** The dtype of `torch.FloatStorage`, and of its like. */
function storageDtype(name: string): string | null {
  const [module, type] = name.split('.')
  return module === 'torch' && Object.hasOwn(STORAGES, type) ? STORAGES[type] : null
}

/** Bytes, such as the numbers of a NumPy array, are not kept: no tensor needs them. */
function bytesFrom({ length }: Uint8Array): Opaque {
  return new Opaque(`bytes of length ${length}`, [])
}

/** @param bytes little-endian, with a sign */
function integer(bytes: Uint8Array): number {
  const value = bytes.reduceRight((value, byte) => 256n * value + BigInt(byte), 0n)
  return Number(BigInt.asIntN(8 * bytes.length, value))
}

/** What a pickle may call, and what we make instead; null for arguments that it does not take. */
const MAKERS: Readonly<Record<string, (args: unknown[]) => unknown>> = {
  'collections.OrderedDict': (args) => (args.length === 0 ? new Map() : null),
  'collections.defaultdict': () => new Map(),
  'torch._utils._rebuild_tensor_v2': tensorView,
  // with attributes
  'torch._tensor._rebuild_from_type_v2': ([called, , args]) =>
    called instanceof Global && called.name === 'torch._utils._rebuild_tensor_v2' && Array.isArray(args)
      ? tensorView(args)
      : null,
  'torch._utils._rebuild_parameter': ([tensor]) => (tensor instanceof TensorView ? tensor : null),
  'torch._utils._rebuild_parameter_with_state': ([tensor]) => (tensor instanceof TensorView ? tensor : null),
  'torch.Size': ([sizes]) => (areCounts(sizes) ? Object.freeze([...sizes]) : null),
  'torch.device': ([name]) => name,
}

/** A view that lies within its storage; null for any other. */
function tensorView([storage, offset, shape, strides]: unknown[]): TensorView | null {
  if (!(storage instanceof Storage) || !isCount(offset) || !areCounts(shape) || !areCounts(strides))
    return null
  if (shape.length !== strides.length) return null
  const isEmpty = shape.includes(0)
  const last = shape.reduce((last, size, i) => last + (size - 1) * strides[i], offset)
  return isEmpty || last < storage.length ? new TensorView(storage, offset, shape, strides) : null
}
