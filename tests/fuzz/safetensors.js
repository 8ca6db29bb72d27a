// Safetensors files made by fast-check: valid files, changed in their bytes and in the words of their headers. Each is read by `gpt.loadSafetensors` and by a layer's. For each file:
//
// - The call returned, or threw a GptLayersError VALUE, UNSUPPORTED or TYPE (MEMORY where a tensor is large).
// - After an error nothing is changed and nothing is left in memory.
// - What was read is what the header says, computed here by other code; it is written and read back the same.
// - GPTModel.fromPretrained does the same with the file as a whole and as a stream of chunks.
// - A file whose header is plainly valid is not refused.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from '../lib/support.js' */

import fc from 'fast-check'
import { load } from '../lib/support.js'
import { json } from '../lib/tensorfile.js'
import { checkError, checkStream, find, findingOf, OF_FILES } from './find.js'
import { Finding, Witness } from './witness.js'

/** @typedef {{ shape: number[], values: (number | bigint)[] }} Content of a tensor */
/** A file, the base that it was made from, and the sizes of the chunks in which a stream gives it. */
/** @typedef {{ base: string, file: Uint8Array, chunks: number[] }} Drawn */

// ---- Valid files

/** @type {Record<string, { bytes: number, read: (view: DataView, at: number) => number | bigint }>} */
const DTYPES = {
  F64: { bytes: 8, read: (view, at) => view.getFloat64(at, true) },
  F32: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  F16: { bytes: 2, read: (view, at) => half(view.getUint16(at, true), 10, 15) },
  BF16: { bytes: 2, read: (view, at) => half(view.getUint16(at, true), 7, 127) },
  I64: { bytes: 8, read: (view, at) => view.getBigInt64(at, true) },
  U64: { bytes: 8, read: (view, at) => view.getBigUint64(at, true) },
  I32: { bytes: 4, read: (view, at) => view.getInt32(at, true) },
  U32: { bytes: 4, read: (view, at) => view.getUint32(at, true) },
  I16: { bytes: 2, read: (view, at) => view.getInt16(at, true) },
  U16: { bytes: 2, read: (view, at) => view.getUint16(at, true) },
  I8: { bytes: 1, read: (view, at) => view.getInt8(at) },
  U8: { bytes: 1, read: (view, at) => view.getUint8(at) },
  BOOL: { bytes: 1, read: (view, at) => view.getUint8(at) },
}

/** @param {number} bits @param {number} digits the digits of the fraction @param {number} bias */
function half(bits, digits, bias) {
  const exponent = (bits & 0x7fff) >> digits
  const fraction = (bits & ((1 << digits) - 1)) / (1 << digits)
  const sign = bits & 0x8000 ? -1 : 1
  if (exponent === 2 * bias + 1) return fraction ? NaN : sign * Infinity
  return sign * (exponent ? (1 + fraction) * 2 ** (exponent - bias) : fraction * 2 ** (1 - bias))
}

/** @param {number[]} shape */
const sizeOf = (shape) => shape.reduce((product, n) => product * n, 1)

/**
 * @param {[string, string, number[]][]} tensors name, dtype, shape
 * @param {Record<string, string>} [metadata]
 * @returns {{ header: string, data: number[] }}
 */
function fileOf(tensors, metadata) {
  let at = 0
  const infos = tensors.map(([name, dtype, shape]) => {
    const begin = at
    at += sizeOf(shape) * DTYPES[dtype].bytes
    return [name, { dtype, shape, data_offsets: [begin, at] }]
  })
  const header = JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(infos) })
  return { header, data: Array.from({ length: at }, (_, i) => (i % 8 < 2 ? (i * 7) % 5 : 0)) }
}

const GPT2 = { vocabSize: 3, contextLength: 2, embDim: 2, nHeads: 1, nLayers: 1, tieWeights: true }

const BASES = {
  empty: fileOf([]),
  layer: fileOf(
    [
      ['bias', 'F32', [2]],
      ['weight', 'F32', [2, 3]],
    ],
    { format: 'pt' },
  ),
  dtypes: fileOf(Object.keys(DTYPES).map((dtype) => [dtype.toLowerCase(), dtype, [2]])),
  shapes: fileOf([
    ['single', 'F32', []],
    ['none', 'I64', [0, 4]],
    ['deep', 'F16', [1, 2, 1, 2]],
    ['ü"\\\n', 'U8', [1]],
  ]),
  metadata: fileOf([['x', 'F32', [1]]], { format: 'pt', '': '', '"': '\u2028' }),
  gpt2: fileOf([
    ['h.0.attn.bias', 'U8', [1, 1, 2, 2]],
    ['h.0.attn.c_attn.bias', 'F32', [6]],
    ['h.0.attn.c_attn.weight', 'F32', [2, 6]],
    ['h.0.attn.c_proj.bias', 'F32', [2]],
    ['h.0.attn.c_proj.weight', 'F32', [2, 2]],
    ['h.0.ln_1.bias', 'F32', [2]],
    ['h.0.ln_1.weight', 'F32', [2]],
    ['h.0.ln_2.bias', 'F32', [2]],
    ['h.0.ln_2.weight', 'F32', [2]],
    ['h.0.mlp.c_fc.bias', 'F32', [8]],
    ['h.0.mlp.c_fc.weight', 'F16', [2, 8]],
    ['h.0.mlp.c_proj.bias', 'F32', [2]],
    ['h.0.mlp.c_proj.weight', 'BF16', [8, 2]],
    ['ln_f.bias', 'F32', [2]],
    ['ln_f.weight', 'F32', [2]],
    ['wpe.weight', 'F64', [2, 2]],
    ['wte.weight', 'F32', [3, 2]],
  ]),
}

// ---- Changes. A place is a number, taken modulo the number of places.

const place = fc.nat(2 ** 16)
const number = fc.constantFrom(
  ...'0 1 2 3 4 7 8 16 255 -1 0.5 1e300 65536 2147483648 4294967296 9007199254740991 9007199254740992'.split(
    ' ',
  ),
  ...'-0 1e1 2.0 1e999 18446744073709551616 01 0x2 NaN'.split(' '),
)
const name = fc
  .constantFrom(
    ...['', 'x', 'weight', 'bias', 'a.b', '0', 'h.0.attn.bias', '\u0000', '\ud800'],
    ...['F32', 'F64', 'f32', 'F8_E4M3', 'I64', 'BOOL', 'C64'],
    ...['dtype', 'shape', 'data_offsets', '__metadata__', '__proto__', 'constructor', 'toString'],
  )
  .map((text) => JSON.stringify(text))
/** A value of JSON, and text that is none. */
const given = fc.oneof(
  { weight: 6, arbitrary: fc.oneof(number, name) },
  fc
    .tuple(name, number, number, number)
    .map(
      ([dtype, size, begin, end]) => `{"dtype":${dtype},"shape":[${size}],"data_offsets":[${begin},${end}]}`,
    ),
  fc.array(number, { maxLength: 3 }).map((items) => `[${items}]`),
  fc.array(fc.tuple(name, name), { maxLength: 2 }).map((pairs) => `{${pairs.map((pair) => pair.join(':'))}}`),
  fc.tuple(fc.nat(200), fc.nat(200)).map(([open, close]) => '['.repeat(open) + ']'.repeat(close)),
  fc.constantFrom('null', 'true', 'false', '"\\u0064type"', ' ', '\n\t\r ', '\ufeff', '', '}', '{', ',', '"'),
  fc.constantFrom('"\\u00', '"\\x"', '/**/1', '\u0000', '"a\tb"', '1,2', 'nul', 'x'),
  fc
    .oneof({ weight: 50, arbitrary: fc.nat(300) }, { weight: 1, arbitrary: fc.nat(2 ** 17) })
    .map((n) => JSON.stringify('y'.repeat(n))),
)

const change = fc.record({
  kind: fc.constantFrom(
    ...['token', 'value', 'value', 'add', 'add', 'insert', 'append', 'remove', 'double', 'copy', 'swap'],
    ...['begin', 'end', 'cut', 'extend', 'byte', 'byte'],
  ),
  at: place,
  to: place,
  name,
  given,
  more: fc.constantFrom(-1, 1, 4, -4, 8),
})

/** What stands before or behind a header. */
const ENDS = [' ', '\n\t\r ', '\0', '\ufeff', '[', '"', '}', ',', '{}', 'x']

/** The words of JSON. */
const WORDS = /"(?:\\.|[^"\\])*"|[-+.\w]+|\s+|[^]/g

/** @param {string[]} words @param {number} at @returns {number} where the value, or the name and value, ends */
function endOf(words, at) {
  if (words[at + 1] === ':') return endOf(words, at + 2)
  let depth = 0
  do {
    if ('[{'.includes(words[at])) depth++
    else if (']}'.includes(words[at])) depth--
  } while (++at < words.length && depth > 0)
  return at
}

/**
 * @param {{ header: string, data: number[] }} file
 * @param {{ kind: string, at: number, to: number, name: string, given: string, more: number }} change of the
 *   header's words, or of the data
 */
function apply({ header, data }, { kind, at, to, name, given, more }) {
  const words = [...(header.match(WORDS) ?? [])]
  /** Where values, and names with their values, begin. @param {number} n */
  const begin = (n) => {
    const begins = words.flatMap((word, i) => (/^["[{\w-]/.test(word) ? i : []))
    return begins[n % begins.length] ?? 0
  }
  const numbers = words.flatMap((word, i) => (/^\d+$/.test(word) ? i : []))
  const [first, second] = [begin(at), begin(to)].sort((a, b) => a - b)
  const [end, last] = [endOf(words, first), endOf(words, second)]
  const [value, other] = [words.slice(first, end), words.slice(second, last)]
  if (kind === 'token') words[first] = given
  if (kind === 'value') words.splice(first, value.length, given)
  if (kind === 'add' && numbers.length > 0)
    words[numbers[at % numbers.length]] = String(Number(words[numbers[at % numbers.length]]) + more)
  if (kind === 'insert') words.splice(at % (words.length + 1), 0, given)
  if (kind === 'append') words.splice(end, 0, ',', ...(words[first + 1] === ':' ? [name, ':'] : []), given)
  if (kind === 'remove') words.splice(first, value.length + Number(words[end] === ','))
  if (kind === 'double') words.splice(end, 0, ',', ...value)
  if (kind === 'copy') words.splice(end, 0, ',', name, ...value.slice(1)) // of a tensor: under another name
  if (kind === 'begin') words.unshift(ENDS[to % ENDS.length])
  if (kind === 'end') words.push(ENDS[to % ENDS.length])
  if (kind === 'swap' && end <= second) {
    words.splice(second, other.length, ...value)
    words.splice(first, value.length, ...other)
  }
  if (kind === 'cut') data = data.slice(0, at % (data.length + 1))
  if (kind === 'extend') data = [...data, ...Array(at % 9).fill(0)]
  if (kind === 'byte' && data.length > 0)
    data = data.map((byte, i) => (i === at % data.length ? to % 256 : byte))
  return { header: words.join(''), data }
}

/** @type {fc.Arbitrary<(length: bigint) => bigint>} a change of the length that the file states; mostly none */
const stated = fc.oneof(
  { weight: 19, arbitrary: fc.constant((/** @type {bigint} */ length) => length) },
  fc.integer({ min: -4, max: 4 }).map((more) => (/** @type {bigint} */ length) => length + BigInt(more)),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((length) => () => length),
)

/** @type {fc.Arbitrary<(bytes: number[]) => void>} a change of a file's bytes: some are replaced by others */
const bytewise = fc
  .tuple(
    place,
    fc.constantFrom(0, 1, 1, 1, 4, 16, 1e9),
    fc.array(fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('\0\x01 ",[\\{}\x7f'))), { maxLength: 4 }),
  )
  .map(
    ([at, count, given]) =>
      (bytes) =>
        bytes.splice(at % (bytes.length + 1), count, ...given),
  )

/** Mostly few changes. @template T @param {fc.Arbitrary<T>} change */
const several = (change) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.array(change, { maxLength: 2 }) },
    { weight: 1, arbitrary: fc.array(change, { maxLength: 8, size: 'max' }) },
  )

/** @type {fc.Arbitrary<Drawn>} */
export const files = fc
  .record({
    base: fc.constantFrom(.../** @type {(keyof typeof BASES)[]} */ (Object.keys(BASES))),
    changes: several(change),
    bytes: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, several(bytewise)),
    stated,
    chunks: fc.array(fc.integer({ min: 10, max: 200 }), { minLength: 1, maxLength: 8 }),
  })
  .map(({ base, changes, bytes, stated, chunks }) => {
    const { header, data } = changes.reduce(apply, BASES[base])
    const file = json(header, Uint8Array.from(data))
    const view = new DataView(file.buffer)
    view.setBigUint64(0, stated(view.getBigUint64(0, true)), true)
    const all = [...file]
    for (const change of bytes) change(all)
    return { base, file: Uint8Array.from(all), chunks }
  })

// ---- What a file holds, read by other code than the package's

/**
 * @param {Uint8Array} file
 * @returns {{ plain: boolean, tensors: Map<string, Content> } | null} null where the file cannot be valid.
 *   plain: the header is written as JSON.stringify writes it, so no name is there twice, and has nothing that
 *   the format does not know
 */
function understand(file) {
  try {
    const view = new DataView(file.buffer, file.byteOffset, file.length)
    const length = Number(view.getBigUint64(0, true))
    if (8 + length > file.length) return null
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      file.subarray(8, 8 + length),
    )
    const header = JSON.parse(text)
    if (!text.startsWith('{')) return null
    const tensors = new Map()
    let at = 8 + length
    const { __metadata__: given, ...infos } = header
    const metadata = given ?? {}
    if (Object.prototype.toString.call(metadata) !== '[object Object]') return null
    if (Object.values(metadata).some((value) => typeof value !== 'string')) return null
    const sorted = Object.entries(infos).sort(
      ([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0] || a.data_offsets[1] - b.data_offsets[1],
    )
    for (const [name, { dtype, shape, data_offsets: offsets }] of sorted) {
      const { bytes, read } = DTYPES[dtype]
      const counts = [shape, offsets].every((list) =>
        list.every((/** @type {any} */ n) => Number.isSafeInteger(n) && n >= 0),
      )
      if (!counts || offsets.length !== 2 || 8 + length + offsets[0] !== at) return null
      const count = sizeOf(shape)
      if (dtype === 'BOOL' && file.subarray(at, at + count).some((byte) => byte > 1)) return null
      if (offsets[1] - offsets[0] !== count * bytes || 8 + length + offsets[1] > file.length) return null
      tensors.set(name, {
        shape,
        values: Array.from({ length: count }, (_, i) => read(view, at + i * bytes)),
      })
      at += count * bytes
    }
    if (at !== file.length) return null
    const known = Object.values(infos).every((info) => Object.keys(info).length === 3)
    return { plain: known && JSON.stringify(header) === text.trimEnd(), tensors }
  } catch {
    return null
  }
}

/** @param {number | bigint} value */
const isExact = (value) => (typeof value === 'bigint' ? BigInt(Math.fround(Number(value))) === value : true)

// ---- The check

const FLOAT_BITS = new DataView(new ArrayBuffer(4))
/** @param {number} value @returns {number} its bits, NaN as one */
const bitsOf = (value) => (
  FLOAT_BITS.setFloat32(0, Number.isNaN(value) ? NaN : value),
  FLOAT_BITS.getUint32(0)
)

/** Reads files with one copy of the package. */
export class Reader {
  /** @type {Record<string, any>} a layer for the files of a base */ #layers

  /** @param {Gpt} gpt */
  constructor(gpt) {
    this.gpt = gpt
    this.witness = new Witness(gpt)
    this.#layers = { layer: new gpt.Linear(3, 2), gpt2: new gpt.GPTModel(GPT2), dtypes: new gpt.LayerNorm(2) }
    this.witness.begin()
    this.witness.endAll([{ begin: 0, end: this.witness.size }])
  }

  static async make() {
    return new Reader(await load({ build: 'simd', maxMemory: 8 }))
  }

  /**
   * @param {Drawn} drawn
   * @returns {Promise<boolean>} whether it was read
   * @throws {Finding}
   */
  async check({ base, file, chunks }) {
    const given = file.slice()
    const isRead = this.#checkTensors(file)
    this.#checkLayer(file, this.#layers[base] ?? this.#layers.layer)
    const dtype = file.length % 2 ? 'int8' : 'float32'
    if (base === 'gpt2') await checkStream(this, file, chunks, { dtype, config: { nHeads: GPT2.nHeads } })
    if (Buffer.compare(given, file) !== 0) throw new Finding('the file itself changed')
    return isRead
  }

  /** @param {Uint8Array} file */
  #checkTensors(file) {
    const { gpt, witness } = this
    const content = understand(file)
    const count = witness.blocks.size
    witness.begin()
    let tensors
    try {
      tensors = gpt.loadSafetensors(file)
    } catch (error) {
      const refused = checkError(error, OF_FILES, 1500)
      witness.end([])
      if (witness.blocks.size !== count) throw new Finding(`${error} left blocks`)
      if (refused.code === 'MEMORY') return false
      const all = content && [...content.tensors.values()].flatMap(({ values }) => values).every(isExact)
      const integers =
        content &&
        [...content.tensors.values()].some(({ values }) =>
          values.some(
            (value) => typeof value === 'number' && Number.isInteger(value) && Math.abs(value) > 2 ** 24,
          ),
        )
      if (content?.plain && all && !integers) throw new Finding(`a valid file is refused: ${refused.message}`)
      return false
    }
    witness.end([])
    if (content === null) throw new Finding('a file that is not valid was read')
    this.#compare(tensors, content.tensors)
    const again = gpt.loadSafetensors(gpt.saveSafetensors(tensors))
    this.#compare(
      again,
      new Map(
        Object.entries(tensors).map(([name, { shape, data }]) => [
          name,
          { shape: [...shape], values: [...data] },
        ]),
      ),
    )
    for (const tensor of [...Object.values(tensors), ...Object.values(again)]) tensor.dispose()
    witness.end([])
    if (witness.blocks.size !== count) throw new Finding('reading left blocks')
    return true
  }

  /** @param {Uint8Array} file @param {any} layer */
  #checkLayer(file, layer) {
    const { gpt, witness } = this
    const count = witness.blocks.size
    witness.begin()
    const own = Object.values(layer.stateDict())
    try {
      gpt.scope(() => void layer.loadStateDict(gpt.loadSafetensors(file)))
      witness.end(own.map((tensor) => witness.rangeOf(/** @type {Tensor} */ (tensor))))
    } catch (error) {
      checkError(error, OF_FILES, 1500)
      witness.end([])
    }
    witness.endAll([])
    if (witness.blocks.size !== count) throw new Finding('a layer that read a file left blocks')
  }

  /**
   * @param {Record<string, Tensor>} tensors
   * @param {Map<string, Content>} expected
   */
  #compare(tensors, expected) {
    if (String(Object.keys(tensors).sort()) !== String([...expected.keys()].sort())) {
      throw new Finding(`read ${Object.keys(tensors)} instead of ${[...expected.keys()]}`)
    }
    for (const [name, { shape, values }] of expected) {
      const { shape: actual, data } = tensors[name]
      if (String(actual) !== String(shape))
        throw new Finding(`${name}: shape [${actual}] instead of [${shape}]`)
      values.forEach((value, i) => {
        if (bitsOf(data[i]) === bitsOf(Number(value))) return
        throw new Finding(`${name}: element ${i} is ${data[i]} instead of ${value}`)
      })
    }
  }
}

/** @type {Promise<Reader> | null} */
let reader = null

/**
 * @param {Drawn} drawn
 * @returns {Promise<boolean>} whether the file was read
 * @throws {Finding}
 */
export async function check(drawn) {
  reader ??= Reader.make()
  try {
    return await (await reader).check(drawn)
  } catch (error) {
    reader = null
    throw error
  }
}

/** Many files. @param {number} seed @param {number} count */
export const fuzz = (seed, count) => find(files, check, seed, count)

const FILES = 2000

/** @type {import('./fuzz.js').Fuzzer} */
export const fuzzer = {
  unit: 'files',
  async batch(seed) {
    const { finding } = await fuzz(seed, FILES)
    if (finding === null) return { count: FILES, finding }
    const { base, file, chunks } = finding.input
    const input = [base, Buffer.from(file).toString('base64'), chunks].join(':')
    return { count: FILES, finding: finding.message, input }
  },
  replay(input) {
    const [base, file, chunks] = input.split(':')
    const sizes = chunks.split(',').map(Number)
    return findingOf(check({ base, file: Uint8Array.from(Buffer.from(file, 'base64')), chunks: sizes }))
  },
}
