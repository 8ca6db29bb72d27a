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
// may be unknown: a descriptor after the data has it. The pickle says how long the storages are.

import { describe } from '../check.ts'
import { fail } from '../errors.ts'
import { eachIndex, sizeOf } from '../tensor/shape.ts'
import { type Values, valuesOf } from './dtypes.ts'
import { isEmbedding, modelAmong } from './gptnames.ts'
import type { TensorInfo } from './names.ts'
import {
  type Reading,
  type RowWriter,
  type TensorFile,
  rowsAndCols,
  Cursor,
  kindOf,
  MAX_TENSORS,
  newBytes,
  PIECE,
  readRows,
} from './reading.ts'
import {
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
  const archive = yield* readArchive(what)
  const { cursor, root } = archive
  const model = modelIn(cursor, root)
  const views = model ? tensorsOf(cursor, model.dict) : tensorsIn(cursor, root)
  return fileOf(archive, views, statedIn(model?.above))
}

/** Reads all tensors in a file, also those in dicts and lists inside: `optimizer.state.0.exp_avg`. */
export function* readTorchTensors(what: string): Reading<TensorFile> {
  const archive = yield* readArchive(what)
  return fileOf(archive, tensorsIn(archive.cursor, archive.root), {})
}

const fileOf = (archive: Archive, views: readonly Named[], stated: Record<string, unknown>): TensorFile => ({
  tensors: [...views],
  stated,
  byteLength: archive.byteLength,
  read: (writerOf) => readStorages(archive, views, writerOf),
})

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

interface Named extends TensorInfo {
  view: TensorView
}

function infoOf(name: string, view: TensorView): Named {
  const { storage, offset, shape, strides } = view
  return { name, dtype: storage.dtype, shape, values: [storage.id, offset, ...strides].join(), view }
}

function tensorsOf(cursor: Cursor, dict: Map<unknown, unknown>): Named[] {
  const seen = new Set()
  return [...dict].flatMap(([name, value]) => {
    checkOpaque(cursor, value, seen)
    return value instanceof TensorView ? [infoOf(String(name), value)] : []
  })
}

/**
 * An object that we do not know is left out.
 *
 * @param seen the lists and dicts that were searched, and have no tensor
 * @throws {GptLayersError} VALUE where it has a tensor inside
 */
function checkOpaque(cursor: Cursor, opaque: unknown, seen: Set<unknown>): void {
  if (!(opaque instanceof Opaque)) return
  const queue: unknown[] = [opaque]
  for (const value of queue) {
    if (value instanceof TensorView || value instanceof Storage) {
      throw cursor.damaged(`${words(opaque)} with tensors inside: save model.state_dict() instead`)
    }
    const inside = value instanceof Opaque ? value.parts : value
    if (seen.has(inside) || !(inside instanceof Map || Array.isArray(inside))) continue
    seen.add(inside)
    for (const one of inside.values()) queue.push(one)
  }
}

/** The dict with an embedding, and the dict above it. An optimizer's is no model. */
function modelIn(cursor: Cursor, root: unknown) {
  const seen = new Set()
  const queue = [{ path: '', dict: root, above: null as Map<unknown, unknown> | null }]
  const models: { path: string; dict: Map<unknown, unknown>; above: Map<unknown, unknown> | null }[] = []
  for (const { path, dict, above } of queue) {
    if (!(dict instanceof Map) || seen.has(dict)) continue
    seen.add(dict)
    if (models.length > 100) throw cursor.damaged('too many models')
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
    cursor.what,
    models.map(({ path }) => path),
  )
  return models.find(({ path }) => path === chosen)
}

function tensorsIn(cursor: Cursor, root: unknown): Named[] {
  const found: Named[] = []
  const path = new Set()
  const seen = new Set()
  let letters = 0
  let other = root
  function walk(name: string, value: unknown): void {
    letters += 1 + name.length
    // A list may have the same list twice: 90 such lists in each other have 2^90 values.
    if (letters > MAX_PICKLE || found.length > MAX_TENSORS) throw cursor.damaged('too many values or tensors')
    if (value instanceof TensorView) found.push(infoOf(name, value))
    checkOpaque(cursor, value, seen)
    if (value instanceof Opaque) other = value
    if (!(value instanceof Map) && !Array.isArray(value)) return
    if (path.has(value) || path.size > 100)
      throw cursor.damaged('dicts or lists that contain themselves, or are nested too deep')
    path.add(value)
    for (const [key, inside] of value.entries()) walk(name === '' ? String(key) : `${name}.${key}`, inside)
    path.delete(value)
  }
  walk('', root)
  if (found.length === 0) throw cursor.damaged(`${words(other)} without tensors`)
  const names = new Set()
  for (const { name } of found) {
    if (names.has(name)) throw cursor.damaged(`two tensors with the name ${describe(name)}`)
    names.add(name)
  }
  return found
}

/** The file up to the end of its pickle. */
interface Archive {
  cursor: Cursor
  root: unknown
  storages: ReadonlyMap<string, Storage>
  /** what stands before the names of all entries, such as `archive/` */
  folder: string
  names: Set<string>
  byteLength: number
}

function* readArchive(what: string): Reading<Archive> {
  const cursor = new Cursor(what, 'a file of torch.save')
  const names: Set<string> = new Set()
  const entry = yield* readEntry(cursor, names)
  if (entry === null || !/(^|\/)data\.pkl$/.test(entry.name)) {
    if (entry?.name.includes('/data/')) throw isTorchScript(what)
    const begin = describe(entry?.name ?? '')
    throw cursor.damaged(`a ZIP archive that begins with ${begin} instead of data.pkl`)
  }
  const pickle = yield* readContent(cursor, entry, MAX_PICKLE)
  const { root, storages } = new Pickle(cursor, pickle).read()
  const byteLength = [...storages.values()].reduce((sum, { byteLength }) => sum + byteLength, cursor.at)
  return { cursor, root, storages, folder: entry.name.slice(0, -'data.pkl'.length), names, byteLength }
}

/** The numbers of a storage come once: all tensors that are views of it are written then. */
function* readStorages(
  { cursor, storages, folder, names }: Archive,
  views: readonly Named[],
  writerOf: (info: TensorInfo) => RowWriter | null,
): Reading<void> {
  const needed: Map<Storage, Named[]> = new Map()
  for (const one of views) {
    const others = needed.get(one.view.storage)
    if (others) others.push(one)
    else needed.set(one.view.storage, [one])
  }
  for (;;) {
    const entry = yield* readEntry(cursor, names)
    if (entry === null) break
    const name = entry.name.startsWith(folder) ? entry.name.slice(folder.length) : entry.name
    const storage = name.startsWith('data/') ? storages.get(name.slice('data/'.length)) : undefined
    if (storage) {
      yield* readStorage(cursor, storage, needed.get(storage) ?? [], writerOf)
      yield* endEntry(cursor, entry, storage.byteLength)
      needed.delete(storage)
    } else if (entry.length !== null && entry.length > MAX_TEXT) {
      yield* cursor.skip(entry.length)
      yield* endEntry(cursor, entry, entry.length)
    } else {
      const text = textOf(yield* readContent(cursor, entry, MAX_TEXT))
      if (name === 'byteorder' && text !== 'little')
        throw fail('UNSUPPORTED', cursor.what, 'have little-endian numbers', describe(text))
    }
  }
  for (const { key } of needed.keys()) throw cursor.damaged(`no storage ${describe(key)}`)
  yield* readDirectory(cursor)
}

interface Entry {
  name: string
  /** null where only the descriptor after the data has it */
  length: number | null
  hasDescriptor: boolean
}

/** What the parts of an archive begin with. */
const [ENTRY, DESCRIPTOR, DIRECTORY, DIRECTORY_END] = [0x04034b50, 0x08074b50, 0x02014b50, 0x06054b50]

/**
 * Reads the header of the next entry; null where the entries end and the directory begins.
 *
 * @param names of those before
 */
function* readEntry(cursor: Cursor, names: Set<string>): Reading<Entry | null> {
  const begin = (yield* cursor.read(4)).slice()
  const signature = viewOf(begin).getUint32(0, true)
  if (signature === DIRECTORY) return null
  if (signature !== ENTRY) {
    const prefix = Uint8Array.from([...begin, ...(yield* cursor.read(12))])
    throw cursor.damaged(kindOf(prefix) ?? 'a ZIP archive with bytes between its entries')
  }
  const header = viewOf((yield* cursor.read(26)).slice())
  const flags = header.getUint16(2, true)
  const method = header.getUint16(4, true)
  const length = header.getUint32(18, true)
  const name = textOf(yield* cursor.read(header.getUint16(22, true)))
  yield* cursor.read(header.getUint16(24, true))
  if (method !== 0 || flags & 1) {
    const expected = 'be as torch.save writes it, without compression'
    throw fail('UNSUPPORTED', cursor.what, expected, `${describe(name)} compressed or encrypted`)
  }
  if (length === 0xffffffff) throw tooLong(cursor.what)
  if (names.has(name)) throw cursor.damaged(`two entries ${describe(name)}`)
  names.add(name)
  const hasDescriptor = (flags & 8) !== 0
  return { name, length: hasDescriptor && length === 0 ? null : length, hasDescriptor }
}

/** The bytes behind the signatures in the directory: of an entry, and of the two parts of ZIP64. */
const DIRECTORY_PARTS: Readonly<Record<number, number>> = { [DIRECTORY]: 42, 0x06064b50: 52, 0x07064b50: 16 }

/** Reads the directory, from behind its first signature to its end. */
function* readDirectory(cursor: Cursor): Reading<void> {
  for (let signature = DIRECTORY; signature !== DIRECTORY_END;) {
    const length = DIRECTORY_PARTS[signature]
    if (length === undefined) throw cursor.damaged('a ZIP archive without its directory')
    const part = viewOf((yield* cursor.read(length)).slice())
    // the name, and more
    if (signature === DIRECTORY) for (const at of [24, 26, 28]) yield* cursor.read(part.getUint16(at, true))
    signature = viewOf(yield* cursor.read(4)).getUint32(0, true)
  }
  yield* cursor.read(18)
}

/** The size of the descriptor that may follow an entry's data: a signature, a checksum, and the length twice. */
const DESCRIPTOR_BYTES = 16

function isDescriptor(bytes: Uint8Array, length: number): boolean {
  const view = viewOf(bytes)
  const lengths = [view.getUint32(8, true), view.getUint32(12, true)]
  return view.getUint32(0, true) === DESCRIPTOR && lengths.every((one) => one === length)
}

/** Reads what follows the data of an entry. @param read how many bytes the data had */
function* endEntry(cursor: Cursor, { name, length, hasDescriptor }: Entry, read: number): Reading<void> {
  if (length !== null && length !== read)
    throw cursor.damaged(`${describe(name)} of ${length} bytes instead of ${read}`)
  if (!hasDescriptor) return
  const descriptor = yield* cursor.read(DESCRIPTOR_BYTES)
  if (isDescriptor(descriptor, read)) return
  if (viewOf(descriptor).getBigUint64(8, true) === BigInt(read)) throw tooLong(cursor.what) // of 64 bits
  throw cursor.damaged(`${describe(name)} that does not end after ${read} bytes`)
}

/** The longest entry that is neither the pickle nor a storage. */
const MAX_TEXT = 1000

/** Reads a whole entry. One of unknown length ends at the first descriptor with the length that was read. */
function* readContent(cursor: Cursor, entry: Entry, most: number): Reading<Uint8Array> {
  const { name, length } = entry
  if (length !== null && length <= most) {
    const content = (yield* cursor.read(length)).slice()
    yield* endEntry(cursor, entry, length)
    return content
  }
  let bytes = newBytes(2 ** 16)
  for (let end = 0, more = DESCRIPTOR_BYTES; length === null && end <= most;) {
    if (end + more > bytes.length) {
      const longer = newBytes(2 * bytes.length)
      longer.set(bytes)
      bytes = longer
    }
    bytes.set(yield* cursor.read(more), end)
    end += more
    const last = bytes.subarray(end - DESCRIPTOR_BYTES, end)
    if (isDescriptor(last, end - DESCRIPTOR_BYTES)) return bytes.subarray(0, end - DESCRIPTOR_BYTES)
    const next = last.indexOf(DESCRIPTOR & 0xff, 1)
    more = next < 0 ? DESCRIPTOR_BYTES : next
  }
  throw cursor.damaged(`${describe(name)} of more than ${most} bytes`)
}

/** Reads a storage into all its views. */
function* readStorage(
  cursor: Cursor,
  storage: Storage,
  views: readonly Named[],
  writerOf: (info: TensorInfo) => RowWriter | null,
): Reading<void> {
  const used = views.flatMap((tensor) => {
    const writer = writerOf(tensor)
    return writer ? [{ tensor, writer }] : []
  })
  const { byteLength: size } = storage
  if (used.length === 0) return yield* cursor.skip(size)
  const [{ tensor, writer }] = used
  if (used.length === 1 && tensor.view.isWhole) return yield* readRows(cursor, tensor, writer)
  const bytes = newBytes(size)
  for (let at = 0; at < size; at += PIECE) bytes.set(yield* cursor.read(Math.min(PIECE, size - at)), at)
  const values = valuesOf(tensor.name, storage.dtype, bytes)
  for (const { tensor, writer } of used) {
    const { view } = tensor
    const [rows, cols] = rowsAndCols(view.shape)
    if (rows * cols > 0) writer.write(view.isWhole ? values : elementsOf(view, values), 0, rows)
  }
}

function elementsOf({ offset, shape, strides }: TensorView, values: Values): Values {
  const size = sizeOf(shape)
  const elements = values instanceof Int8Array ? new Int8Array(size) : new Float32Array(size)
  const axes = shape.map((size, i) => ({ size, steps: [strides[i]] }))
  const { size: cols, steps } = axes.pop() ?? { size: 1, steps: [0] }
  eachIndex(axes, 1, (row, [begin]) => {
    for (let c = 0; c < cols; c++) elements[row * cols + c] = values[offset + begin + c * steps[0]]
  })
  return elements
}
