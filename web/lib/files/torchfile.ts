// Files of torch.save, from PyTorch 1.6 on: a ZIP archive without compression.
//
// | entry | content |
// | --- | --- |
// | archive/data.pkl | a pickle, protocol 1 or later: what was saved, in which a tensor names its storage |
// | archive/byteorder | little, or big; since PyTorch 2.1 |
// | archive/data/0, archive/data/1 ... | the storages: numbers, little-endian |
// | archive/version and others | not needed |
//
// The entries are read in their order, up to the directory at the end. Before the data of an entry its length
// may be unknown: a descriptor after the data has it. The pickle says itself where it ends, and how long the
// storages are.

import type { TensorInfo } from './names.ts'
import { describe } from '../check.ts'
import { fail } from '../errors.ts'
import { isEmbedding, modelAmong } from './names.ts'
import { bytesOf, toFloat32, toInt8 } from './dtypes.ts'
import {
  type Reading,
  type RowWriter,
  type TensorFile,
  asMatrix,
  kindOf,
  MAX_TENSORS,
  newBytes,
  readRows,
  skip,
} from './reading.ts'
import {
  type Exactly,
  damaged,
  isTorchScript,
  MAX_PICKLE,
  Opaque,
  Pickle,
  Storage,
  TensorView,
  textOf,
  tooLong,
  viewOf,
  words,
} from './pickle.ts'

/** Reads the model in a file. The other tensors, such as an optimizer's, are left out. */
export function* readTorchModel(what: string): Reading<TensorFile> {
  const { root, read, byteLength } = yield* readTorchFile(what)
  const model = modelIn(what, root)
  const views = model ? tensorsOf(what, model.dict) : tensorsIn(what, root)
  return {
    tensors: views.map(({ info }) => info),
    stated: statedIn(model?.above),
    byteLength,
    read: (writerOf) => read(views, writerOf),
  }
}

/** What a checkpoint says about its model: nanoGPT's model_args, or the fields of its config. */
function statedIn(above: Map<unknown, unknown> | null | undefined): Record<string, unknown> {
  const args = above?.get('model_args')
  if (args !== undefined) return fieldsOf(args)
  const config = above?.get('config')
  const { block_size, ...fields } = fieldsOf(config)
  // nanoGPT's GPTConfig has `bias`. Those of build-nanogpt and minGPT have not, and GELU's tanh form.
  if (block_size === undefined || !('bias' in fields)) return fields
  // A dict has the settings of the training, too.
  return config instanceof Map ? { block_size, n_head: fields.n_head } : { block_size, ...fields }
}

/** The items of a dict, or the attributes of an object such as a dataclass. */
function fieldsOf(value: unknown): Record<string, unknown> {
  const fields = value instanceof Opaque ? value.parts.find((part) => part instanceof Map) : value
  const entries = fields instanceof Map ? [...fields] : []
  return Object.fromEntries(entries.map(([name, one]) => [name, one instanceof Opaque ? undefined : one]))
}

/** Reads all tensors in a file, also those in dicts and lists inside: `optimizer.state.0.exp_avg`. */
export function* readTorchTensors(what: string): Reading<TensorFile> {
  const { root, read, byteLength } = yield* readTorchFile(what)
  const views = tensorsIn(what, root)
  return {
    tensors: views.map(({ info }) => info),
    stated: {},
    byteLength,
    read: (writerOf) => read(views, writerOf),
  }
}

/** A tensor of the file under its name. */
interface Named {
  info: TensorInfo
  view: TensorView
}

function named(name: string, view: TensorView): Named {
  const { storage, offset, shape, strides } = view
  return {
    info: { name, dtype: storage.dtype, shape, values: [storage.id, offset, ...strides].join() },
    view,
  }
}

/** The tensors of a model's dict. */
function tensorsOf(what: string, dict: Map<unknown, unknown>): Named[] {
  const seen = new Set()
  return [...dict].flatMap(([name, value]) => {
    checkOpaque(what, value, seen)
    return value instanceof TensorView ? [named(String(name), value)] : []
  })
}

/**
 * An object that we do not know is left out.
 *
 * @param seen the lists and dicts that were searched, and have no tensor
 * @throws {GptLayersError} VALUE where it has a tensor inside
 */
function checkOpaque(what: string, opaque: unknown, seen: Set<unknown>): void {
  if (!(opaque instanceof Opaque)) return
  const queue: unknown[] = [opaque]
  for (const value of queue) {
    if (value instanceof TensorView || value instanceof Storage) {
      throw damaged(what, `${words(opaque)} with tensors inside: save model.state_dict() instead`)
    }
    const inside = value instanceof Opaque ? value.parts : value
    if (seen.has(inside) || !(inside instanceof Map || Array.isArray(inside))) continue
    seen.add(inside)
    for (const one of inside.values()) queue.push(one)
  }
}

/** The dict with an embedding, and the dict above it. An optimizer's is no model. */
function modelIn(what: string, root: unknown) {
  const seen = new Set()
  const queue = [{ path: '', dict: root, above: null as Map<unknown, unknown> | null }]
  const models: { path: string; dict: Map<unknown, unknown>; above: Map<unknown, unknown> | null }[] = []
  for (const { path, dict, above } of queue) {
    if (!(dict instanceof Map) || seen.has(dict)) continue
    seen.add(dict)
    if (models.length > 100) throw damaged(what, 'too many models')
    const isModel = [...dict].some(([name, one]) => one instanceof TensorView && isEmbedding(String(name)))
    if (isModel) models.push({ path, dict, above })
    else {
      for (const [key, value] of dict) {
        const name = String(key)
        if (name.includes('optimizer') || path.length + name.length > 1000) continue
        queue.push({ path: path === '' ? name : `${path}.${name}`, dict: value, above: dict })
      }
    }
  }
  if (models.length === 0) return null
  const chosen = modelAmong(
    what,
    models.map(({ path }) => path),
  )
  return models.find(({ path }) => path === chosen)
}

function tensorsIn(what: string, root: unknown): Named[] {
  const found: Named[] = []
  const path = new Set()
  const seen = new Set()
  let letters = 0
  let other = root
  function walk(name: string, value: unknown): void {
    letters += 1 + name.length
    // A list may have the same list twice: 90 such lists in each other have 2^90 values.
    if (letters > MAX_PICKLE || found.length > MAX_TENSORS) throw damaged(what, 'too many values or tensors')
    if (value instanceof TensorView) found.push(named(name, value))
    checkOpaque(what, value, seen)
    if (value instanceof Opaque) other = value
    if (!(value instanceof Map) && !Array.isArray(value)) return
    if (path.has(value) || path.size > 100)
      throw damaged(what, 'dicts or lists that contain themselves, or are nested too deep')
    path.add(value)
    for (const [key, inside] of value.entries()) walk(name === '' ? String(key) : `${name}.${key}`, inside)
    path.delete(value)
  }
  walk('', root)
  if (found.length === 0) throw damaged(what, `${words(other)} without tensors`)
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
  const names = new Set()
  function* nextEntry(): Reading<Entry | null> {
    const entry = yield* readEntry(what, exactly)
    if (entry === null) return null
    if (names.has(entry.name)) throw damaged(what, `two entries ${describe(entry.name)}`)
    names.add(entry.name)
    return entry
  }
  const entry = yield* nextEntry()
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
  function* read(views: readonly Named[], writerOf: (info: TensorInfo) => RowWriter | null): Reading<void> {
    const needed: Map<Storage, Named[]> = new Map()
    for (const one of views) {
      const others = needed.get(one.view.storage)
      if (others) others.push(one)
      else needed.set(one.view.storage, [one])
    }
    for (let entry = yield* nextEntry(); entry !== null; entry = yield* nextEntry()) {
      const name = entry.name.startsWith(folder) ? entry.name.slice(folder.length) : entry.name
      const storage = storages.get(name.replace(/^data\//, ''))
      if (!storage || !name.startsWith('data/')) {
        const content = yield* readText(what, entry, exactly)
        if (name !== 'byteorder' || content === 'little') continue
        throw fail('UNSUPPORTED', what, 'have little-endian numbers', describe(content))
      }
      const start = at
      yield* readStorage(storage, needed.get(storage) ?? [], writerOf, exactly)
      yield* endEntry(what, entry, at - start, exactly)
      needed.delete(storage)
    }
    for (const { key } of needed.keys()) throw damaged(what, `no storage ${describe(key)}`)
    yield* readDirectory(what, exactly)
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

/** What the parts of an archive begin with. */
const [ENTRY, DIRECTORY, DIRECTORY_END] = [0x04034b50, 0x02014b50, 0x06054b50]

/** Reads the header of the next entry; null where the entries end and the directory begins. */
function* readEntry(what: string, exactly: Exactly): Reading<Entry | null> {
  const begin = (yield* exactly(4)).slice()
  const signature = viewOf(begin).getUint32(0, true)
  if (signature === DIRECTORY) return null
  if (signature !== ENTRY) {
    const prefix = [...begin, ...(yield* exactly(12))]
    throw damaged(what, kindOf(Uint8Array.from(prefix)) ?? 'a ZIP archive with bytes between its entries')
  }
  const header = viewOf((yield* exactly(26)).slice())
  const [flags, method, length] = [
    header.getUint16(2, true),
    header.getUint16(4, true),
    header.getUint32(18, true),
  ]
  const name = textOf(yield* exactly(header.getUint16(22, true)))
  yield* exactly(header.getUint16(24, true))
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

/** The bytes behind the signatures in the directory: of an entry, and of the two parts of ZIP64. */
const DIRECTORY_PARTS: Readonly<Record<number, number>> = { [DIRECTORY]: 42, 0x06064b50: 52, 0x07064b50: 16 }

/** Reads the directory, from behind its first signature to its end. */
function* readDirectory(what: string, exactly: Exactly): Reading<void> {
  for (let signature = DIRECTORY; signature !== DIRECTORY_END;) {
    const length = DIRECTORY_PARTS[signature]
    if (length === undefined) throw damaged(what, 'a ZIP archive without its directory')
    const part = viewOf((yield* exactly(length)).slice())
    // the name, and more
    if (signature === DIRECTORY) for (const at of [24, 26, 28]) yield* exactly(part.getUint16(at, true))
    signature = viewOf(yield* exactly(4)).getUint32(0, true)
  }
  yield* exactly(18)
}

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
  writerOf: (info: TensorInfo) => RowWriter | null,
  exactly: Exactly,
): Reading<void> {
  const { dtype, length } = storage
  const used = views.flatMap(({ info, view }) => {
    const writer = writerOf(info)
    return writer ? [{ info, view, writer }] : []
  })
  if (used.length === 0) return yield* skip(bytesOf(dtype, [length]), exactly)
  const [{ info, view, writer }] = used
  if (used.length === 1 && view.isWhole) return yield* readRows(info, writer, exactly)
  const bytes = newBytes(bytesOf(dtype, [length]))
  for (let at = 0; at < bytes.length; at += PART) {
    const part = yield* exactly(Math.min(PART, bytes.length - at))
    bytes.set(part, at)
  }
  let floats: Float32Array | undefined
  for (const { view, writer } of used) {
    const values =
      writer.takesInt8 && dtype === 'I8' ? toInt8(bytes) : (floats ??= toFloat32(info.name, dtype, bytes))
    const [rows, cols] = asMatrix(view.shape)
    if (rows * cols > 0) writer.write(view.isWhole ? values : elementsOf(view, values), 0, rows)
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
