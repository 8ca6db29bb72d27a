// The pickle in a file of torch.save. Its format:
// https://github.com/python/cpython/blob/main/Lib/pickletools.py
//
// A pickle is a program for a machine with a stack, which may call any function of Python. This one makes
// dicts, lists, numbers, strings and tensors, and calls nothing. Every other call gives an Opaque: its parts
// are kept, so that a tensor among them is noticed.

import { describe, shortName } from '../check.ts'
import { type GptLayersError, fail } from '../errors.ts'
import { bytesOf } from './dtypes.ts'
import { type Reading, areCounts, isCount } from './reading.ts'

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

export const damaged = (what: string, problem: string): GptLayersError =>
  fail('VALUE', what, 'be a file of torch.save', problem)

export const isTorchScript = (what: string): GptLayersError =>
  fail('UNSUPPORTED', what, 'have a state dict: save model.state_dict()', 'TorchScript')

export type Exactly = (bytes: number) => Reading<Uint8Array>

export const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  new DataView(buffer, byteOffset, byteLength)
export const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes.slice())

export const tooLong = (what: string) =>
  fail('UNSUPPORTED', what, 'be a file of at most 4 GB', 'a longer one')

/** The machine that a pickle is a program for. */
export class Pickle {
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
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      const code = String.fromCharCode(...(yield* this.#take(1)))
      if (code === '.') return { root: this.#pop(), storages: this.#storages }
      yield* this.#run(code)
    }
    throw this.#damaged(`a pickle of more than ${MAX_STEPS} instructions`)
  }

  /** Runs an instruction. */
  *#run(code: string): Reading<void> {
    switch (code) {
      case '\x80': {
        const protocol = yield* this.#uint(1)
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
        return this.#push(yield* this.#uint(1))
      case 'M':
        return this.#push(yield* this.#uint(2))
      case 'J':
        return this.#push(integer(yield* this.#take(4)))
      case '\x8a':
        return this.#push(integer(yield* this.#take(yield* this.#uint(1))))
      case 'I':
      case 'L':
        return this.#push(this.#number(yield* this.#line()))
      case 'G':
        return this.#push(viewOf(yield* this.#take(8)).getFloat64(0))
      case 'X':
        return this.#push(textOf(yield* this.#take(yield* this.#uint(4))))
      case '\x8c':
        return this.#push(textOf(yield* this.#take(yield* this.#uint(1))))
      case 'B':
        return this.#push(bytesFrom(yield* this.#take(yield* this.#uint(4))))
      case 'C':
        return this.#push(bytesFrom(yield* this.#take(yield* this.#uint(1))))
      case '\x96':
        return this.#push(bytesFrom(yield* this.#take(yield* this.#uint(8))))
      case ')':
        return this.#push(Object.freeze([]))
      case '\x85':
        return this.#push(Object.freeze(this.#popMany(1)))
      case '\x86':
        return this.#push(Object.freeze(this.#popMany(2)))
      case '\x87':
        return this.#push(Object.freeze(this.#popMany(3)))
      case 't':
      case '\x91': // a frozenset
        return this.#push(Object.freeze(this.#popGroup()))
      case ']':
      case '\x8f': // a set
        return this.#push([])
      case 'a':
        return this.#append(this.#popMany(1))
      case 'e':
      case '\x90': // of a set
        return this.#append(this.#popGroup())
      case '}':
        return this.#push(new Map())
      case 's':
        return this.#setItems(this.#popMany(2))
      case 'u':
        return this.#setItems(this.#popGroup())
      case 'q':
        return this.#put(yield* this.#uint(1))
      case 'r':
        return this.#put(yield* this.#uint(4))
      case '\x94':
        return this.#put(this.#memo.size)
      case 'h':
        return this.#get(yield* this.#uint(1))
      case 'j':
        return this.#get(yield* this.#uint(4))
      case 'c':
        return this.#global(yield* this.#line(), yield* this.#line())
      case '\x93': {
        const [module, name] = this.#popMany(2)
        return this.#global(module, name)
      }
      case 'Q':
        return this.#push(this.#storage(this.#pop()))
      case 'R':
      case '\x81':
        return this.#push(this.#make(this.#popMany(2)))
      case '\x92': // with named arguments
        return this.#push(this.#make(this.#popMany(3)))
      case 'b': {
        const attributes = this.#pop()
        const object = this.#top()
        if (object instanceof Opaque) return void object.parts.push(attributes)
        if (object instanceof Map) return // an OrderedDict's, such as _metadata
        throw this.#damaged(`attributes of ${words(object)}`)
      }
      default: {
        const opcode = `the pickle opcode 0x${code.charCodeAt(0).toString(16)}`
        if (!'FPSVdgilp'.includes(code)) throw this.#damaged(opcode)
        throw this.#damaged(
          `${opcode} of protocol 0, which torch.load does not read either: save with protocol 2`,
        )
      }
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

  *#uint(bytes: number): Reading<number> {
    return (yield* this.#take(bytes)).reduceRight((value, byte) => 256 * value + byte, 0)
  }

  *#line(): Reading<string> {
    let line = ''
    for (;;) {
      const letter = textOf(yield* this.#take(1))
      if (letter === '\n') return line
      line += letter
      if (line.length > MAX_LINE) throw this.#damaged(`a line of more than ${MAX_LINE} letters`)
    }
  }

  /** @param line of protocol 1: 01 is true, 5 and 5L are 5 */
  #number(line: string): number | boolean {
    if (line === '00' || line === '01') return line === '01'
    if (/^-?\d+L?$/.test(line)) return parseInt(line, 10)
    throw this.#damaged(`the number ${describe(line)}`)
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
    if (at > MAX_STEPS) throw this.#damaged(`a value at ${at} of the memo`)
    this.#memo.set(at, this.#top())
  }

  #get(at: number): void {
    if (!this.#memo.has(at))
      throw this.#damaged(`a pickle that takes value ${at} of the memo, which is not there`)
    this.#push(this.#memo.get(at))
  }

  #append(values: unknown[]): void {
    const top = this.#top()
    const list = top instanceof Opaque ? top.parts : top
    if (!Array.isArray(list) || Object.isFrozen(list)) throw this.#damaged('elements of what is no list')
    for (const value of values) list.push(value)
  }

  #setItems(values: unknown[]): void {
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

  #global(module: unknown, name: unknown): void {
    const full = [module, name].map((part) =>
      typeof part === 'string' && part.length <= MAX_LINE ? part : '?',
    )
    if (full[0].startsWith('__torch__')) throw isTorchScript(this.#what)
    this.#push(new Global(full.join('.')))
  }

  /** @param parts what is called, and its arguments */
  #make(parts: unknown[]): unknown {
    const [called, args] = parts
    if (!(called instanceof Global || called instanceof Opaque) || !Array.isArray(args)) {
      throw this.#damaged(`a call of ${words(called)}`)
    }
    const name = called instanceof Global ? called.name : ''
    const make = Object.hasOwn(MAKERS, name) ? MAKERS[name] : null
    if (!make && !name.startsWith('torch._utils._rebuild_')) return new Opaque(called.name, parts)
    const made = make?.(args) ?? null
    if (made !== null) return made
    throw this.#damaged(`${name}(${args.slice(0, 4).map(words).join(', ')})`)
  }

  /** @param id ('storage', torch.FloatStorage, key, device, length) */
  #storage(id: unknown): Storage {
    const [kind, type, key, , length] = Array.isArray(id) ? id : []
    const dtype = type instanceof Global ? storageDtype(type.name) : null
    if (kind !== 'storage' || typeof key !== 'string' || dtype === null || !isCount(length)) {
      throw this.#damaged(`${words(type)}, a storage of ${words(length)} values`)
    }
    if (bytesOf(dtype, [length]) > 2 ** 32) throw tooLong(this.#what)
    const known = this.#storages.get(key) ?? new Storage(key, dtype, length)
    if (known.dtype !== dtype || known.length !== length)
      throw this.#damaged(`two descriptions of storage ${describe(key)}`)
    this.#storages.set(key, known)
    return known
  }
}

/** The dtype of `torch.FloatStorage`, and of its like. */
function storageDtype(name: string): string | null {
  const [module, type] = name.split('.')
  return module === 'torch' && Object.hasOwn(STORAGES, type) ? STORAGES[type] : null
}

/** Bytes, such as the numbers of a NumPy array, are not kept: no tensor needs them. */
const bytesFrom = (bytes: Uint8Array) => new Opaque(`bytes of length ${bytes.length}`, [])

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
