// The mutator of safetensors files: valid files, changed in their bytes and in the structure of their
// headers. Each is read by `gpt.loadSafetensors` and by a layer's. For each file:
//
// - The call returned, or threw a GptLayersError VALUE, UNSUPPORTED or TYPE (MEMORY where a tensor is large).
// - After an error nothing is changed and nothing is left in memory.
// - What was read is what the header says, computed here by other code; it is written and read back the same.
// - GPTModel.fromSafetensors does the same with the file as a whole and as a stream of chunks.
// - A file whose header is plainly valid is not refused.

/** @import { Gpt, Tensor } from 'gpt-layers' */

import { GptLayersError, load } from 'gpt-layers'
import { Finding, Witness } from './witness.js'

/** A value of JSON in which an object may have a name twice: an object is a list of pairs. */
class Pairs {
  /** @param {[string, any][]} pairs */
  constructor(pairs) {
    this.pairs = pairs
  }
}

/** Text that stands in the JSON as it is. */
class Raw {
  /** @param {string} text */
  constructor(text) {
    this.text = text
  }
}

/** @typedef {{ header: Pairs, data: Uint8Array }} File */
/** @typedef {{ shape: number[], values: (number | bigint)[] }} Content of a tensor */
/** @typedef {{ message: string, base: string, file: Uint8Array }} BadFile */
/** @typedef {(n: number) => number} Random an integer from 0 to n - 1 */

/** @param {number} seed @returns {Random} mulberry32, by Tommy Ettinger, public domain */
export function randomOf(seed) {
  let state = seed >>> 0
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n)
  }
}

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
 * @param {Pairs} [metadata]
 * @returns {File}
 */
function fileOf(tensors, metadata) {
  /** @type {[string, any][]} */
  const pairs = metadata ? [['__metadata__', metadata]] : []
  let at = 0
  for (const [name, dtype, shape] of tensors) {
    const begin = at
    at += sizeOf(shape) * DTYPES[dtype].bytes
    pairs.push([
      name,
      new Pairs([
        ['dtype', dtype],
        ['shape', shape],
        ['data_offsets', [begin, at]],
      ]),
    ])
  }
  const data = Uint8Array.from({ length: at }, (_, i) => (i % 8 < 2 ? (i * 7) % 5 : 0))
  return { header: new Pairs(pairs), data }
}

const GPT2 = { vocabSize: 3, contextLength: 2, embDim: 2, nHeads: 1, nLayers: 1, tieWeights: true }

/** @type {Readonly<Record<string, () => File>>} */
const BASES = {
  empty: () => fileOf([]),
  layer: () =>
    fileOf(
      [
        ['bias', 'F32', [2]],
        ['weight', 'F32', [2, 3]],
      ],
      new Pairs([['format', 'pt']]),
    ),
  dtypes: () => fileOf(Object.keys(DTYPES).map((dtype) => [dtype.toLowerCase(), dtype, [2]])),
  shapes: () =>
    fileOf([
      ['single', 'F32', []],
      ['none', 'I64', [0, 4]],
      ['deep', 'F16', [1, 2, 1, 2]],
      ['ü"\\\n', 'U8', [1]],
    ]),
  metadata: () =>
    fileOf(
      [['x', 'F32', [1]]],
      new Pairs([
        ['format', 'pt'],
        ['', ''],
        ['"', '\u2028'],
      ]),
    ),
  gpt2: () =>
    fileOf([
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

/** @param {any} value @returns {string} its JSON */
function write(value) {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (value instanceof Pairs) {
    return `{${value.pairs.map(([name, item]) => `${JSON.stringify(name)}:${write(item)}`).join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

/**
 * @param {string} header
 * @param {Uint8Array} data
 * @param {bigint} [length] that the file states
 * @returns {Uint8Array}
 */
function assemble(header, data, length) {
  const text = Buffer.from(header)
  const file = new Uint8Array(8 + text.length + data.length)
  new DataView(file.buffer).setBigUint64(0, length ?? BigInt(text.length), true)
  file.set(text, 8)
  file.set(data, 8 + text.length)
  return file
}

// ---- Mutations

const NUMBERS = [
  0,
  1,
  2,
  3,
  4,
  7,
  8,
  16,
  -1,
  0.5,
  1e2,
  255,
  2 ** 16,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  1e300,
  new Raw('-0'),
  new Raw('1e1'),
  new Raw('2.0'),
  new Raw('1e999'),
  new Raw('18446744073709551616'),
  new Raw('01'),
  new Raw('0x2'),
  new Raw('NaN'),
]
const TEXTS = [
  '',
  'F32',
  'F64',
  'f32',
  'F8_E4M3',
  'I64',
  'BOOL',
  'C64',
  'x',
  'weight',
  'bias',
  '__proto__',
  'constructor',
  'toString',
  '__metadata__',
  'dtype',
  'shape',
  'data_offsets',
  '\u0000',
  '\ud800',
  'a.b',
  '0',
  'h.0.attn.bias',
]
const NAMES = ['dtype', 'shape', 'data_offsets', '__metadata__', ...TEXTS]

/** @template T @param {Random} random @param {readonly T[]} list @returns {T} */
const pick = (random, list) => list[random(list.length)]

/** @param {Random} random @returns {any} any JSON */
function anything(random) {
  switch (random(9)) {
    case 0:
      return pick(random, NUMBERS)
    case 1:
      return pick(random, TEXTS)
    case 2:
      return pick(random, [null, true, false])
    case 3:
      return Array.from({ length: random(4) }, () => pick(random, NUMBERS))
    case 4:
      return new Pairs(Array.from({ length: random(3) }, () => [pick(random, NAMES), pick(random, TEXTS)]))
    case 5:
      return new Raw('['.repeat(random(200)) + ']'.repeat(random(200)))
    case 6:
      return new Raw(
        pick(random, ['', '}', '{', ',', '"', '"\\u00', '"\\x"', '/**/1', '\u0000', '"a\tb"', '1,2', 'nul']),
      )
    case 7:
      return random(50) ? 'y'.repeat(random(300)) : 'z'.repeat(1 << random(18))
    default:
      return new Pairs([
        ['dtype', pick(random, TEXTS)],
        ['shape', [pick(random, NUMBERS)]],
        ['data_offsets', [pick(random, NUMBERS), pick(random, NUMBERS)]],
      ])
  }
}

/**
 * Every place of a JSON value that can be replaced: an item of an array, or the value of a pair.
 *
 * @param {any} value
 * @returns {{ list: any[], at: number, pair: boolean }[]}
 */
function placesOf(value) {
  if (value instanceof Pairs) {
    return value.pairs.flatMap((pair) => [{ list: pair, at: 1, pair: true }, ...placesOf(pair[1])])
  }
  if (!Array.isArray(value)) return []
  return value.flatMap((item, at) => [{ list: value, at, pair: false }, ...placesOf(item)])
}

/** @param {any} value @returns {Pairs[]} the objects of a JSON value */
function objectsOf(value) {
  if (value instanceof Pairs) return [value, ...value.pairs.flatMap(([, item]) => objectsOf(item))]
  return Array.isArray(value) ? value.flatMap(objectsOf) : []
}

/** @type {((file: File, random: Random) => void)[]} changes of the header's structure */
const STRUCTURAL = [
  ({ header }, random) => {
    const places = placesOf(header)
    if (places.length === 0) return
    const { list, at } = pick(random, places)
    list[at] = anything(random)
  },
  ({ header }, random) => {
    const numbers = placesOf(header).filter(({ list, at }) => typeof list[at] === 'number')
    if (numbers.length === 0) return
    const { list, at } = pick(random, numbers)
    list[at] += pick(random, [-1, 1, 4, -4, 8, list[at]])
  },
  ({ header }, random) => {
    const { pairs } = pick(random, objectsOf(header))
    if (pairs.length > 0) pairs.splice(random(pairs.length), 1)
  },
  ({ header }, random) => {
    const { pairs } = pick(random, objectsOf(header))
    if (pairs.length > 0) pairs.splice(random(pairs.length + 1), 0, pick(random, pairs)) // a name twice
  },
  ({ header }, random) => {
    const { pairs } = pick(random, objectsOf(header))
    if (pairs.length > 0) pick(random, pairs)[0] = pick(random, NAMES)
  },
  ({ header }, random) => {
    const { pairs } = pick(random, objectsOf(header))
    pairs.splice(random(pairs.length + 1), 0, [pick(random, NAMES), anything(random)])
  },
  ({ header }, random) => {
    const { pairs } = pick(random, objectsOf(header))
    if (pairs.length > 1) pairs.push(...pairs.splice(0, 1 + random(pairs.length - 1))) // in another order
  },
  (file, random) => {
    file.data = file.data.slice(0, random(file.data.length + 1))
  },
  (file, random) => {
    file.data = Uint8Array.from([...file.data, ...new Uint8Array(random(9))])
  },
  (file, random) => {
    if (file.data.length > 0) file.data[random(file.data.length)] = random(256) // other values, still valid
  },
]

/** @type {((text: string, random: Random) => string)[]} changes of the header's text */
const TEXTUAL = [
  (text) => text,
  (text) => text,
  (text, random) => text + ' '.repeat(random(16)),
  (text, random) => pick(random, [' ', '\n', '\ufeff', '[', '"']) + text,
  (text, random) => text + pick(random, ['\0', '}', ',', '{}', '\n\t\r ', 'x']),
  (text) => text.replaceAll(/[:,]/g, ' $& '),
  (text) => text.replaceAll('"dtype"', '"\\u0064type"'),
]

/**
 * One file, drawn from a seed.
 *
 * @param {number} seed
 * @returns {{ base: string, file: Uint8Array }}
 */
export function draw(seed) {
  const random = randomOf(seed)
  const base = pick(random, Object.keys(BASES))
  const parts = BASES[base]()
  const changes = pick(random, [0, 1, 1, 1, 2, 2, 4, 8])
  const kind = random(4)
  if (kind > 0) for (let i = 0; i < changes; i++) pick(random, STRUCTURAL)(parts, random)
  const text = pick(random, TEXTUAL)(write(parts.header), random)
  const length = random(20)
    ? undefined
    : BigInt.asUintN(
        64,
        BigInt(text.length + random(9) - 4) + BigInt(random(3) && 1) * (1n << BigInt(random(64))),
      )
  let file = assemble(text, parts.data, length)
  if (kind === 0) for (let i = 0; i < changes; i++) file = changeBytes(file, random)
  return { base, file }
}

/** @param {Uint8Array} file @param {Random} random @returns {Uint8Array} */
function changeBytes(file, random) {
  const at = random(file.length)
  const to = Math.min(file.length, at + 1 + random(16))
  const bytes = [...file]
  switch (random(6)) {
    case 0:
      bytes[at] ^= 1 << random(8)
      break
    case 1:
      bytes[at] = pick(random, [0, 1, 0x20, 0x22, 0x2c, 0x5b, 0x5c, 0x7b, 0x7d, 0x7f, 0x80, 0xc3, 0xff])
      break
    case 2:
      bytes.splice(at, to - at)
      break
    case 3:
      bytes.splice(at, 0, ...bytes.slice(at, to))
      break
    case 4:
      bytes.length = at
      break
    default:
      bytes.splice(at, 0, ...Array.from({ length: random(8) }, () => random(256)))
  }
  return Uint8Array.from(bytes)
}

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
    const { __metadata__: metadata = {}, ...infos } = header
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

/** Reads files in one instance. */
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
   * @param {Uint8Array} file
   * @param {string} [base] from which it was made
   * @returns {Promise<boolean>} whether the instance read it
   * @throws {Finding}
   */
  async check(file, base = 'layer') {
    const given = file.slice()
    const isRead = this.#checkInstance(file)
    this.#checkLayer(file, this.#layers[base] ?? this.#layers.layer)
    if (base === 'gpt2' && file.length % 4 === 0) await this.#checkStream(file)
    if (Buffer.compare(given, file) !== 0) throw new Finding('the file itself changed')
    return isRead
  }

  /** @param {Uint8Array} file */
  async #checkStream(file) {
    const { witness } = this
    const count = witness.blocks.size
    witness.begin()
    const dtype = file.length % 8 ? 'int8' : 'float32'
    const whole = await this.#load(file, dtype)
    const random = randomOf(file.length)
    let at = 0
    const chunks = new ReadableStream({
      pull(controller) {
        const end = at + random(100)
        controller.enqueue(file.slice(at, end))
        at = end
        if (at >= file.length) controller.close()
      },
    })
    const streamed = await this.#load(chunks, dtype)
    witness.end([])
    if (whole !== streamed) throw new Finding(`the whole file gives ${whole}, a stream of it ${streamed}`)
    if (witness.blocks.size !== count) throw new Finding('a model that was loaded left blocks')
  }

  /**
   * @param {Uint8Array | ReadableStream} source
   * @param {'float32' | 'int8'} dtype
   * @returns {Promise<string>} what was read, or the error
   */
  async #load(source, dtype) {
    try {
      const config = { nHeads: GPT2.nHeads }
      const model = await this.gpt.GPTModel.fromSafetensors(source, { dtype, config })
      const text = Buffer.from(model.saveSafetensors()).toString('base64')
      model.dispose()
      return text
    } catch (error) {
      checkError(error)
      // A stream does not tell how many bytes it has.
      return /** @type {GptLayersError} */ (error).message.replace(/got \d+ bytes.*|got more than.*/, '')
    }
  }

  /** @param {Uint8Array} file */
  #checkInstance(file) {
    const { gpt, witness } = this
    const content = understand(file)
    const count = witness.blocks.size
    witness.begin()
    let tensors
    try {
      tensors = gpt.loadSafetensors(file)
    } catch (error) {
      checkError(error)
      witness.end([])
      if (witness.blocks.size !== count) throw new Finding(`${error} left blocks`)
      const refused = /** @type {GptLayersError} */ (error)
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
    const { witness } = this
    const count = witness.blocks.size
    witness.begin()
    const own = Object.values(layer.stateDict())
    try {
      layer.loadSafetensors(file)
      witness.end(own.map((tensor) => witness.rangeOf(/** @type {Tensor} */ (tensor))))
    } catch (error) {
      checkError(error)
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

const CODES = ['TYPE', 'VALUE', 'UNSUPPORTED', 'MEMORY', 'SHAPE']

/** @param {unknown} error */
function checkError(error) {
  if (error instanceof Finding) throw error
  if (!(error instanceof GptLayersError)) {
    const text = error instanceof Error ? error.stack?.split('\n').slice(0, 5).join('\n') : String(error)
    throw new Finding(`threw what is not a GptLayersError: ${text}`, { cause: error })
  }
  if (!CODES.includes(error.code)) throw new Finding(`threw ${error.code}: ${error.message}`)
  if (error.message.length > 1500) throw new Finding(`threw a message of ${error.message.length} characters`)
}

/** @type {Promise<Reader> | null} */
let reader = null

/**
 * @param {Uint8Array} file
 * @param {string} [base]
 * @returns {Promise<string | null>} what is wrong, or null
 */
export async function examine(file, base) {
  reader ??= Reader.make()
  try {
    await (await reader).check(file, base)
    return null
  } catch (error) {
    reader = null
    if (error instanceof Finding) return error.message
    return `the fuzzer failed: ${/** @type {Error} */ (error).stack}`
  }
}

/**
 * Removes bytes from a file as long as it has the finding.
 *
 * @param {Uint8Array} file
 * @param {string} base
 * @param {string} finding
 * @returns {Promise<Uint8Array>}
 */
async function shrink(file, base, finding) {
  const [kind] = finding.split(/[\d:]/)
  let best = file
  for (let step = best.length >> 1; step >= 1; step >>= 1) {
    for (let at = 0; at + step <= best.length;) {
      const less = Uint8Array.from([...best.subarray(0, at), ...best.subarray(at + step)])
      // The header's length follows what was removed from it.
      if (at >= 8 && less.length >= 8) {
        const view = new DataView(less.buffer)
        const length = view.getBigUint64(0, true)
        if (BigInt(at) < 8n + length && length >= BigInt(step))
          view.setBigUint64(0, length - BigInt(step), true)
      }
      if ((await examine(less, base))?.startsWith(kind)) best = less
      else at += step
    }
  }
  return best
}

/**
 * Many files.
 *
 * @param {number} seed
 * @param {number} count
 * @returns {Promise<{ files: number, read: number, finding: BadFile | null }>}
 */
export async function fuzz(seed, count) {
  let read = 0
  for (let i = 0; i < count; i++) {
    const { base, file } = draw(Math.imul(seed, 0x9e3779b1) + i)
    reader ??= Reader.make()
    try {
      if (await (await reader).check(file, base)) read++
    } catch {
      reader = null
      const message = (await examine(file, base)) ?? 'a finding that does not come again'
      return { files: i + 1, read, finding: { message, base, file: await shrink(file, base, message) } }
    }
  }
  return { files: count, read, finding: null }
}
