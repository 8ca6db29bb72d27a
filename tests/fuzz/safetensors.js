// Safetensors files made by fast-check: of a layer, of a model, and of any tensors, some with faults in the header
// or in their bytes. `gpt.loadSafetensors` reads each, and a layer. For each file:
//
// - The call returned, or threw a GptLayersError VALUE, UNSUPPORTED or TYPE (MEMORY where a tensor is large).
// - After an error nothing is changed and nothing is left in memory.
// - What was read is what the header says, computed here by other code; it is written and read back the same.
// - GPTModel.fromPretrained does the same with the file as a whole and as a stream of chunks.
// - A file whose header is plainly valid is not refused.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from '../lib/support.js' */
/** @import { Edit } from './edits.js' */

import fc from 'fast-check'
import { load } from '../lib/support.js'
import { edit, edited } from './edits.js'
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

const GPT2 = { vocabSize: 3, contextLength: 2, embDim: 2, nHeads: 1, nLayers: 1, tieWeights: true }

/** @typedef {[name: string, dtype: string, shape: number[]]} Description of a tensor, in the order of the file */

/** @type {Record<'layer' | 'gpt2', Description[]>} what a layer and a model take */
const BASES = {
  layer: [
    ['bias', 'F32', [2]],
    ['weight', 'F32', [2, 3]],
  ],
  gpt2: [
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
  ],
}

const name = fc.constantFrom(
  ...['', 'x', 'weight', 'bias', 'a.b', '0', 'ü"\\\n', '\u0000', '\u2028', '\ud800'],
  ...['__metadata__', '__proto__', 'constructor', 'toString'],
)
/** @type {fc.Arbitrary<Description>} */
const tensor = fc.tuple(name, fc.constantFrom(...Object.keys(DTYPES)), fc.array(fc.nat(3), { maxLength: 3 }))

// ---- Faults of the header

/** Text in place of a value. */
const given = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    ...'-0 -1 0.5 1e1 2.0 1e999 01 0x2 NaN 4294967296 9007199254740992 18446744073709551616'.split(' '),
    ...[
      '[0,0,0]',
      '[4294967296,4294967296]',
      '[8,0]',
      '"F8_E4M3"',
      '"f32"',
      '"toString"',
      '"\\u0046\\u0033\\u0032"',
      '',
    ],
    JSON.stringify('y'.repeat(2 ** 17)),
  ),
)

const fault = fc.record({
  kind: fc.constantFrom(
    'more',
    'move',
    'value',
    'value',
    'longer',
    'gone',
    'other',
    'entry',
    'twice',
    'swap',
  ),
  at: fc.nat(99),
  field: fc.nat(2),
  given,
  more: fc.constantFrom(-8, -4, -1, 1, 4, 8),
})

/**
 * @param {[name: string, fields: [name: string, text: string][] | string][]} entries of a header
 * @param {{ kind: string, at: number, field: number, given: string, more: number }} fault of one entry, which is changed here
 */
function spoil(entries, { kind, at, field, given, more }) {
  if (entries.length === 0) return
  const [i, j] = [at % entries.length, (at + 1) % entries.length]
  const [name, fields] = entries[i]
  if (kind === 'entry') entries[i] = [name, given]
  if (kind === 'twice') entries.push(entries[i])
  if (kind === 'swap') [entries[i][1], entries[j][1]] = [entries[j][1], fields]
  if (typeof fields === 'string' || !fields[field]) return
  const [key, text] = fields[field]
  if (kind === 'value') fields[field] = [key, given]
  const added = (/** @type {string} */ digits) => String(Number(digits) + more)
  if (kind === 'more') fields[field] = [key, text.replace(/\d+/, added)]
  if (kind === 'move') fields[field] = [key, text.replace(/\d+/g, added)]
  if (kind === 'longer') fields[field] = [key, text.replace(']', `,${more}]`)]
  if (kind === 'gone') fields.splice(field, 1)
  if (kind === 'other') fields.push([key, given])
}

const WORDS = ['{', '}', '"', ',', ' ', '\0', '\ufeff', '\x7f', '1', '{}'].map(
  (word) => new Uint8Array(Buffer.from(word)),
)

/** @type {fc.Arbitrary<Edit[]>} */
const edits = fc.oneof(
  { weight: 3, arbitrary: fc.constant(/** @type {Edit[]} */ ([])) },
  fc.array(edit, { maxLength: 3 }),
)

/** @type {fc.Arbitrary<Drawn>} */
export const files = fc
  .record({
    base: fc.constantFrom(...['any', 'any', 'layer', 'gpt2']),
    tensors: fc.array(tensor, { maxLength: 4 }),
    metadata: fc.option(fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 })),
    faults: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, fc.array(fault, { maxLength: 2 })),
    edits,
    chunks: fc.array(fc.integer({ min: 10, max: 200 }), { minLength: 1, maxLength: 8 }),
  })
  .map(({ base, tensors, metadata, faults, edits, chunks }) => {
    let end = 0
    /** @type {Parameters<typeof spoil>[0]} */
    const entries = (base === 'layer' || base === 'gpt2' ? BASES[base] : tensors).map(
      ([name, dtype, shape]) => {
        const begin = end
        end += sizeOf(shape) * DTYPES[dtype].bytes
        const fields = { dtype, shape, data_offsets: [begin, end] }
        return [name, Object.entries(fields).map(([key, value]) => [key, JSON.stringify(value)])]
      },
    )
    if (metadata) entries.unshift(['__metadata__', JSON.stringify(metadata)])
    for (const fault of faults) spoil(entries, fault)
    const object = (/** @type {[string, string][]} */ fields) =>
      `{${fields.map(([name, text]) => `${JSON.stringify(name)}:${text}`)}}`
    const header = object(
      entries.map(([name, fields]) => [name, typeof fields === 'string' ? fields : object(fields)]),
    )
    const data = Uint8Array.from({ length: end }, (_, i) => (i % 8 < 2 ? (i * 7) % 5 : 0))
    const text = Buffer.from(header)
    const length = new Uint8Array(BigUint64Array.of(BigInt(text.length)).buffer)
    /** @type {Uint8Array} */
    const file = new Uint8Array(Buffer.concat([length, text, data]))
    return { base, file: edits.reduce((file, edit) => edited(file, edit, WORDS, [file]), file), chunks }
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
    this.#layers = { layer: new gpt.Linear(3, 2), gpt2: new gpt.GPTModel(GPT2) }
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
