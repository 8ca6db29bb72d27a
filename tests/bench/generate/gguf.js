// Writes the model as a GGUF file, llama.cpp's format, version 3:
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

/** @import { Config, Parameter } from './model.js' */

import { draw, EPS, parameters, sizeOf } from './model.js'

/** @typedef {'float32' | 'Q8_0'} Format */

const ALIGNMENT = 32
/** The types of metadata. */
const [UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY] = [4, 5, 6, 7, 8, 9]
/** The types of tensors. */
const [TENSOR_FLOAT32, TENSOR_Q8_0] = [0, 8]
const [FILE_FLOAT32, FILE_Q8_0] = [0, 7]
const [TOKEN_NORMAL, TOKEN_CONTROL] = [1, 3]

/** A block of Q8_0: a float16 scale, and 32 int8. */
const BLOCK = 32
const BLOCK_BYTES = 2 + BLOCK

/** @param {number} bytes */
const align = (bytes) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT

/** Bytes, appended one value after the other. Numbers are little-endian, as on nearly every machine. */
class Bytes {
  /** @type {Uint8Array[]} */ #parts = []
  #length = 0

  /** @param {Uint8Array} bytes */
  bytes(bytes) {
    this.#parts.push(bytes)
    this.#length += bytes.length
  }

  /** @param {number} n */
  uint32(n) {
    this.bytes(new Uint8Array(Uint32Array.of(n).buffer))
  }

  /** @param {number} n */
  uint64(n) {
    this.bytes(new Uint8Array(BigUint64Array.of(BigInt(n)).buffer))
  }

  /** @param {number} x */
  float32(x) {
    this.bytes(new Uint8Array(Float32Array.of(x).buffer))
  }

  /** @param {string} string */
  string(string) {
    const bytes = new TextEncoder().encode(string)
    this.uint64(bytes.length)
    this.bytes(bytes)
  }

  /** @returns {Uint8Array<ArrayBuffer>} the bytes, with zeros up to a multiple of ALIGNMENT */
  aligned() {
    const result = new Uint8Array(align(this.#length))
    let at = 0
    for (const part of this.#parts) {
      result.set(part, at)
      at += part.length
    }
    return result
  }
}

/**
 * @typedef {{ type: number, items: (number | string)[] }} List
 * @typedef {[key: string, type: number, value: number | string | List]} Entry
 */

/** @param {Bytes} file @param {number} type @param {Entry[2]} value */
function writeValue(file, type, value) {
  if (type === STRING) file.string(String(value))
  else if (type === BOOL) file.bytes(Uint8Array.of(Number(value)))
  else if (type === FLOAT32) file.float32(Number(value))
  else if (type !== ARRAY) file.uint32(Number(value))
  else if (typeof value === 'object') {
    file.uint32(value.type)
    file.uint64(value.items.length)
    for (const item of value.items) writeValue(file, value.type, item)
  }
}

/**
 * A made-up vocabulary: ASCII, where control characters and the space are written as the letters that GPT-2's
 * vocabulary has for them, then others. The last token ends a text.
 *
 * @param {number} size
 */
function vocabulary(size) {
  const end = size - 1
  let others = 256
  const ascii = Array.from({ length: 128 }, (_, code) =>
    String.fromCharCode(code > 32 && code < 127 ? code : others++),
  )
  return Array.from({ length: size }, (_, i) => (i === end ? '<|endoftext|>' : (ascii[i] ?? `t${i}`)))
}

/** @param {Config} config @param {Format} format @returns {Entry[]} */
function metadata({ vocabSize, contextLength, embDim, nHeads, nLayers }, format) {
  const end = vocabSize - 1
  const types = Array.from({ length: vocabSize }, (_, i) => (i === end ? TOKEN_CONTROL : TOKEN_NORMAL))
  return [
    ['general.architecture', STRING, 'gpt2'],
    ['general.name', STRING, 'random weights'],
    ['general.file_type', UINT32, format === 'Q8_0' ? FILE_Q8_0 : FILE_FLOAT32],
    ['gpt2.block_count', UINT32, nLayers],
    ['gpt2.context_length', UINT32, contextLength],
    ['gpt2.embedding_length', UINT32, embDim],
    ['gpt2.feed_forward_length', UINT32, 4 * embDim],
    ['gpt2.attention.head_count', UINT32, nHeads],
    ['gpt2.attention.layer_norm_epsilon', FLOAT32, EPS],
    ['tokenizer.ggml.model', STRING, 'gpt2'],
    ['tokenizer.ggml.pre', STRING, 'gpt-2'],
    ['tokenizer.ggml.tokens', ARRAY, { type: STRING, items: vocabulary(vocabSize) }],
    ['tokenizer.ggml.token_type', ARRAY, { type: INT32, items: types }],
    ['tokenizer.ggml.merges', ARRAY, { type: STRING, items: ['Ā ā'] }],
    ['tokenizer.ggml.bos_token_id', UINT32, end],
    ['tokenizer.ggml.eos_token_id', UINT32, end],
    ['tokenizer.ggml.add_bos_token', BOOL, 0],
  ]
}

/** GGUF's names of the layers. @type {Record<string, string>} */
const NAMES = {
  wte: 'token_embd',
  wpe: 'position_embd',
  ln_f: 'output_norm',
  ln_1: 'attn_norm',
  'attn.c_attn': 'attn_qkv',
  'attn.c_proj': 'attn_output',
  ln_2: 'ffn_norm',
  'mlp.c_fc': 'ffn_up',
  'mlp.c_proj': 'ffn_down',
}

/** @param {string} name Hugging Face's, such as h.0.ln_1.weight @returns {string} blk.0.attn_norm.weight */
function translate(name) {
  const [, block = '', layer = '', last = ''] = /^(h\.\d+\.)?(.*)\.(weight|bias)$/.exec(name) ?? []
  return `${block.replace('h.', 'blk.')}${NAMES[layer]}.${last}`
}

const isMatrix = (/** @type {Parameter} */ { shape }) => shape.length === 2
/** Conv1D's weights are [in, out]; llama.cpp has [out, in]. */
const isConv1D = (/** @type {Parameter} */ { name }) => /\.c_\w+\.weight$/.test(name)

/** @param {Parameter} parameter @returns {number[]} the shape in the file */
const shapeOf = (parameter) => (isConv1D(parameter) ? parameter.shape.toReversed() : parameter.shape)

/**
 * llama.cpp's own tool leaves the positions in float32, too.
 *
 * @param {Parameter} parameter
 * @param {Format} format
 */
const isQuantized = (parameter, format) =>
  format === 'Q8_0' && isMatrix(parameter) && parameter.name !== 'wpe.weight'

/** @param {Parameter} parameter @param {Format} format @returns {number} */
function bytesOf(parameter, format) {
  const size = sizeOf(parameter.shape)
  return isQuantized(parameter, format) ? (size / BLOCK) * BLOCK_BYTES : 4 * size
}

const TILE = 32 // rows and columns that fit into the first cache

/**
 * @param {Float32Array} values [rows, columns]
 * @param {number} rows
 * @param {number} columns
 * @returns {Float32Array<ArrayBuffer>} [columns, rows]
 */
export function transpose(values, rows, columns) {
  const result = new Float32Array(values.length)
  for (let top = 0; top < rows; top += TILE) {
    const bottom = Math.min(top + TILE, rows)
    for (let j = 0; j < columns; j++) {
      for (let i = top; i < bottom; i++) result[j * rows + i] = values[i * columns + j]
    }
  }
  return result
}

const floatBits = new DataView(new ArrayBuffer(4))
/** The smallest normal float16, and the distance of the numbers below it. */
const [FLOAT16_NORMAL, FLOAT16_STEP] = [2 ** -14, 2 ** -24]
const BIAS = (127 - 15) << 23 // of the exponents of float32 and float16

/** @param {number} x from 0 to 65504 @returns {number} the bits of the nearest float16, ties to even */
function float16(x) {
  if (x < FLOAT16_NORMAL) return Math.round(x / FLOAT16_STEP)
  floatBits.setFloat32(0, x)
  const bits = floatBits.getUint32(0) - BIAS
  return (bits + 0xfff + ((bits >>> 13) & 1)) >>> 13
}

/** @param {Float32Array} values @returns {Uint8Array<ArrayBuffer>} blocks of Q8_0 */
function quantizeQ8(values) {
  const blocks = values.length / BLOCK
  const result = new Uint8Array(blocks * BLOCK_BYTES)
  const view = new DataView(result.buffer)
  for (let block = 0; block < blocks; block++) {
    let largest = 0
    for (let i = 0; i < BLOCK; i++) {
      const size = Math.abs(values[block * BLOCK + i])
      if (size > largest) largest = size
    }
    const to = block * BLOCK_BYTES
    view.setUint16(to, float16(largest / 127), true)
    const inverse = largest === 0 ? 0 : 127 / largest
    for (let i = 0; i < BLOCK; i++) result[to + 2 + i] = Math.round(inverse * values[block * BLOCK + i])
  }
  return result
}

/**
 * @param {Config} config
 * @param {Format} format the format of the matrices
 * @returns {Generator<Uint8Array<ArrayBuffer>>} the file, in pieces of one tensor each
 */
export function* gguf(config, format) {
  const tensors = parameters(config)
  const entries = metadata(config, format)
  const head = new Bytes()
  head.bytes(new TextEncoder().encode('GGUF'))
  head.uint32(3)
  head.uint64(tensors.length)
  head.uint64(entries.length)
  for (const [key, type, value] of entries) {
    head.string(key)
    head.uint32(type)
    writeValue(head, type, value)
  }
  let offset = 0
  for (const tensor of tensors) {
    head.string(translate(tensor.name))
    head.uint32(tensor.shape.length)
    for (const size of shapeOf(tensor).toReversed()) head.uint64(size)
    head.uint32(isQuantized(tensor, format) ? TENSOR_Q8_0 : TENSOR_FLOAT32)
    head.uint64(offset)
    offset += align(bytesOf(tensor, format))
  }
  yield head.aligned()
  for (const tensor of tensors) {
    const drawn = draw(tensor)
    const values = isConv1D(tensor) ? transpose(drawn, tensor.shape[0], tensor.shape[1]) : drawn
    const bytes = isQuantized(tensor, format) ? quantizeQ8(values) : new Uint8Array(values.buffer)
    yield bytes
    yield new Uint8Array(align(bytes.length) - bytes.length)
  }
}
