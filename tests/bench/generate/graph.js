// GPT-2 as an ONNX graph that writes token by token, as fast as onnxruntime-web can.
//
// Its API copies every input into the WebAssembly memory and every output out of it. So only the new tokens'
// keys and values are outputs, and the caller appends them to its own buffers, which it gives back whole. The
// buffers are longer than the text: pastMask says which columns count. At 512 tokens this graph takes 0.8
// times as long as one that returns the whole cache (com.microsoft's MultiHeadAttention or
// GroupQueryAttention, or Concat), and at 32 as long.
//
// | input | shape | |
// | --- | --- | --- |
// | ids, positions | [1, tokens] | int64 |
// | last | [1] | int64: which token's logits to compute |
// | sizes | [2] | int64: capacity, tokens |
// | mask | [1, 1, tokens, tokens] | added to the new tokens' scores |
// | pastMask | [1, 1, 1, capacity] | added to the cache's scores |
// | pastKeyN | [1, heads, size, capacity] | the keys are transposed, so that a row times them reads rows |
// | pastValueN | [1, heads, capacity, size] | |
//
// | output | shape |
// | --- | --- |
// | logits | [1, vocabSize] |
// | keyN, valueN | [1, heads, size, tokens], [1, heads, tokens, size] |

/** @import { Config } from './model.js' */
/** @import { Part, Value } from '../onnx.js' */

import { model, node, weight } from '../onnx.js'
import { draw, EPS, parameters } from './model.js'
import { transpose } from './gguf.js'

const FLOAT = 1 // TensorProto.DataType

/**
 * @param {Float32Array} values [rows, columns]
 * @param {number} rows
 * @param {number} columns
 * @returns {{ values: Int8Array, scales: Float32Array }} symmetric, with one scale per column
 */
function quantize(values, rows, columns) {
  const scales = new Float32Array(columns)
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const size = Math.abs(values[i * columns + j])
      if (size > scales[j]) scales[j] = size
    }
  }
  for (let j = 0; j < columns; j++) scales[j] /= 127
  const result = new Int8Array(values.length)
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++)
      result[i * columns + j] = Math.round(values[i * columns + j] / scales[j])
  }
  return { values: result, scales }
}

/**
 * @param {Config} config
 * @param {'float32' | 'int8'} dtype int8: as onnxruntime's quantize_dynamic makes it, with one scale per
 *   column, which is as fast as one per matrix
 * @returns {Uint8Array<ArrayBuffer>} the ONNX file
 */
export function graph(config, dtype) {
  const { vocabSize, embDim: dim, nHeads: heads, nLayers } = config
  const size = dim / heads
  const all = new Map(parameters(config).map((parameter) => [parameter.name, parameter]))
  /** @type {Part[]} */
  const parts = []

  /** @param {string} name */
  const parameter = (name) => {
    const found = all.get(name)
    if (!found) throw new Error(`no parameter ${name}`)
    return found
  }
  /**
   * Adds a weight.
   *
   * @param {string} name
   * @param {number[]} shape
   * @param {Parameters<typeof weight>[2]} values
   */
  const constant = (name, shape, values) => {
    parts.push(weight(name, shape, values))
    return name
  }
  /** @param {string} name @param {number[]} values */
  const integers = (name, values) => constant(name, [values.length], BigInt64Array.from(values, BigInt))
  /** @param {string} name */
  const drawn = (name) => constant(name, parameter(name).shape, draw(parameter(name)))
  /**
   * Adds a node.
   *
   * @param {string} operator
   * @param {string[]} inputs
   * @param {string} output
   * @param {Parameters<typeof node>[3]} [attributes]
   */
  const compute = (operator, inputs, output, attributes) => {
    parts.push(node(operator, inputs, output, attributes))
    return output
  }
  /**
   * Adds a node that splits its input along an axis.
   *
   * @param {string[]} inputs
   * @param {string[]} outputs
   * @param {Parameters<typeof node>[3]} attributes
   */
  const split = (inputs, outputs, attributes) => {
    parts.push(node('Split', inputs, outputs, attributes))
    return outputs
  }

  /**
   * x times an int8 matrix: x is quantized to uint8 with one scale and zero for all of it. onnxruntime fuses
   * the last four nodes into one.
   *
   * @param {string} x
   * @param {string} name the name of the matrix
   * @param {number[]} shape the shape of the matrix, [in, out]
   * @param {Float32Array} values
   * @param {string} y
   */
  function multiplyInt8(x, name, [rows, columns], values, y) {
    const { values: integers, scales } = quantize(values, rows, columns)
    constant(name, [rows, columns], integers)
    constant(`${name}.scales`, [columns], scales)
    constant(`${name}.zeros`, [columns], new Int8Array(columns))
    const [quantized, scale, zero] = [`${y}.x`, `${y}.xScale`, `${y}.xZero`]
    parts.push(node('DynamicQuantizeLinear', [x], [quantized, scale, zero]))
    compute('MatMulInteger', [quantized, name, zero, `${name}.zeros`], `${y}.sums`)
    compute('Cast', [`${y}.sums`], `${y}.floats`, { to: FLOAT })
    compute('Mul', [scale, `${name}.scales`], `${y}.scales`)
    return compute('Mul', [`${y}.floats`, `${y}.scales`], y)
  }

  /** @param {string} x @param {string} name @param {string} y */
  function linear(x, name, y) {
    const { shape } = parameter(`${name}.weight`)
    const values = draw(parameter(`${name}.weight`))
    if (dtype === 'int8') multiplyInt8(x, `${name}.weight`, shape, values, `${y}.product`)
    else compute('MatMul', [x, constant(`${name}.weight`, shape, values)], `${y}.product`)
    return compute('Add', [`${y}.product`, drawn(`${name}.bias`)], y)
  }

  /** @param {string} x @param {string} name @param {string} y */
  const norm = (x, name, y) =>
    compute('LayerNormalization', [x, drawn(`${name}.weight`), drawn(`${name}.bias`)], y, { epsilon: EPS })

  /**
   * [1, tokens, dim] -> [1, tokens, heads, size] -> permuted
   *
   * @param {string} x
   * @param {number[]} perm
   * @param {string} y
   */
  const toHeads = (x, perm, y) =>
    compute('Transpose', [compute('Reshape', [x, 'toHeads'], `${y}.heads`)], y, { perm })

  /** @param {string} x @param {number} i which layer */
  function attention(x, i) {
    const name = `h.${i}.attn`
    const [q, k, v] = split(
      [linear(x, `${name}.c_attn`, `${name}.qkv`)],
      ['q', 'k', 'v'].map((part) => `${name}.${part}`),
      { axis: 2, num_outputs: 3 },
    )
    const query = toHeads(compute('Mul', [q, 'factor'], `${name}.scaled`), [0, 2, 1, 3], `${name}.query`)
    const key = toHeads(k, [0, 2, 3, 1], `key${i}`)
    const value = toHeads(v, [0, 2, 1, 3], `value${i}`)
    const past = compute(
      'Add',
      [compute('MatMul', [query, `pastKey${i}`], `${name}.past`), 'pastMask'],
      `${name}.pastScores`,
    )
    const own = compute('Add', [compute('MatMul', [query, key], `${name}.own`), 'mask'], `${name}.ownScores`)
    const scores = compute('Concat', [past, own], `${name}.scores`, { axis: 3 })
    const weights = compute('Softmax', [scores], `${name}.weights`, { axis: 3 })
    const [before, now] = split([weights, 'sizes'], [`${name}.before`, `${name}.now`], { axis: 3 })
    const sum = compute(
      'Add',
      [
        compute('MatMul', [before, `pastValue${i}`], `${name}.pastSum`),
        compute('MatMul', [now, value], `${name}.ownSum`),
      ],
      `${name}.sum`,
    )
    const row = compute(
      'Reshape',
      [compute('Transpose', [sum], `${name}.tokens`, { perm: [0, 2, 1, 3] }), 'toRow'],
      `${name}.row`,
    )
    return linear(row, `${name}.c_proj`, `${name}.y`)
  }

  /** @param {string} x @param {string} name */
  function feedForward(x, name) {
    const hidden = linear(x, `${name}.c_fc`, `${name}.hidden`)
    const activated = compute('Gelu', [hidden], `${name}.activated`, { approximate: 'tanh' })
    return linear(activated, `${name}.c_proj`, `${name}.y`)
  }

  /** Rows of the embedding, as int8 with one scale for all. */
  function embedInt8() {
    const { values, scales } = quantize(wte, wte.length, 1)
    constant('wte.weight', [vocabSize, dim], values)
    constant('wte.scale', [], scales)
    constant('wte.zero', [], new Int8Array(1))
    compute('Gather', ['wte.weight', 'ids'], 'rows')
    return compute('DequantizeLinear', ['rows', 'wte.scale', 'wte.zero'], 'embedded')
  }

  integers('toHeads', [0, 0, heads, size])
  integers('toRow', [0, 0, dim])
  integers('oneRow', [1, dim])
  constant('factor', [], Float32Array.of(1 / Math.sqrt(size)))
  const wte = draw(parameter('wte.weight'))
  const embedded =
    dtype === 'int8'
      ? embedInt8()
      : compute('Gather', [constant('wte.weight', [vocabSize, dim], wte), 'ids'], 'embedded')
  let h = compute('Add', [embedded, compute('Gather', [drawn('wpe.weight'), 'positions'], 'position')], 'h')
  for (let i = 0; i < nLayers; i++) {
    const name = `h.${i}`
    h = compute('Add', [h, attention(norm(h, `${name}.ln_1`, `${name}.norm1`), i)], `${name}.attended`)
    h = compute('Add', [h, feedForward(norm(h, `${name}.ln_2`, `${name}.norm2`), `${name}.mlp`)], `${name}.y`)
  }
  const last = compute(
    'Reshape',
    [compute('Gather', [h, 'last'], 'lastToken', { axis: 1 }), 'oneRow'],
    'lastRow',
  )
  const final = norm(last, 'ln_f', 'final')
  if (dtype === 'int8')
    multiplyInt8(final, 'head', [dim, vocabSize], transpose(wte, vocabSize, dim), 'logits')
  else compute('Gemm', [final, 'wte.weight'], 'logits', { transB: 1 }) // shares the embedding's weight

  const layers = Array.from({ length: nLayers }, (_, i) => i)
  /** @type {Value[]} */
  const inputs = [
    { name: 'ids', shape: [1, 'tokens'], type: 'INT64' },
    { name: 'positions', shape: [1, 'tokens'], type: 'INT64' },
    { name: 'last', shape: [1], type: 'INT64' },
    { name: 'sizes', shape: [2], type: 'INT64' },
    { name: 'mask', shape: [1, 1, 'tokens', 'tokens'] },
    { name: 'pastMask', shape: [1, 1, 1, 'capacity'] },
    ...layers.map((i) => ({ name: `pastKey${i}`, shape: [1, heads, size, 'capacity'] })),
    ...layers.map((i) => ({ name: `pastValue${i}`, shape: [1, heads, 'capacity', size] })),
  ]
  /** @type {Value[]} */
  const outputs = [
    { name: 'logits', shape: [1, vocabSize] },
    ...layers.map((i) => ({ name: `key${i}`, shape: [1, heads, size, 'tokens'] })),
    ...layers.map((i) => ({ name: `value${i}`, shape: [1, heads, 'tokens', size] })),
  ]
  return model({ inputs, outputs, parts })
}
