// onnxruntime-web, WebAssembly, with the graph of graph.js.

/** @import { Config } from './model.js' */
/** @import { Writer } from './steps.js' */

import * as ort from 'onnxruntime-web'
import { graph } from './graph.js'
import { steps } from './steps.js'

const HIDDEN = -1e9 // added to the score of a key that does not count

/** The cache's buffers grow by so many tokens. */
const STEP = 64

/**
 * The keys and values of one layer.
 *
 * @typedef {{ keys: Float32Array, values: Float32Array }} Layer [heads, size, capacity], [heads, capacity,
 *   size]
 */

/**
 * @param {Config} config
 * @param {'float32' | 'int8'} dtype
 * @param {number} threads
 * @returns {Promise<Writer>}
 */
export async function openOnnxruntime(config, dtype, threads) {
  ort.env.wasm.numThreads = threads
  ort.env.logLevel = 'error' // It warns of weights that it has replaced by packed ones.
  const { nHeads: heads, nLayers, embDim } = config
  const size = embDim / heads
  // Packing the weights in advance makes float32 faster and int8 slower, by a tenth.
  const extra = dtype === 'int8' ? { session: { disable_prepacking: '1' } } : {}
  const session = await ort.InferenceSession.create(graph(config, dtype), {
    executionProviders: ['wasm'],
    extra,
  })
  const tensor = (/** @type {Float32Array} */ values, /** @type {number[]} */ shape) =>
    new ort.Tensor('float32', values, shape)
  const integers = (/** @type {number[]} */ values, shape = [values.length]) =>
    new ort.Tensor('int64', BigInt64Array.from(values, BigInt), shape)

  let [length, capacity] = [0, 0]
  /** @type {Layer[]} */
  let layers = Array.from({ length: nLayers }, () => ({
    keys: new Float32Array(),
    values: new Float32Array(),
  }))

  /**
   * Copies columns of keys and rows of values from one layer to another, from place 0 to place `at`.
   *
   * @param {Layer} from
   * @param {number} fromCapacity
   * @param {Layer} to
   * @param {number} at
   * @param {number} count
   */
  function copy(from, fromCapacity, to, at, count) {
    for (let row = 0; row < heads * size; row++) {
      for (let i = 0; i < count; i++) to.keys[row * capacity + at + i] = from.keys[row * fromCapacity + i]
    }
    for (let head = 0; head < heads; head++) {
      const start = head * fromCapacity * size
      to.values.set(from.values.subarray(start, start + count * size), (head * capacity + at) * size)
    }
  }

  /** @param {number} tokens */
  function reserve(tokens) {
    if (tokens <= capacity) return
    const [old, oldCapacity] = [layers, capacity]
    capacity = Math.ceil(tokens / STEP) * STEP
    layers = old.map((layer) => {
      const floats = heads * size * capacity
      const grown = { keys: new Float32Array(floats), values: new Float32Array(floats) }
      copy(layer, oldCapacity, grown, 0, length)
      return grown
    })
  }

  /** @param {Int32Array} ids */
  async function forward(ids) {
    const tokens = ids.length
    const used = length === 0 ? 0 : capacity // The first tokens attend to no past.
    const mask = new Float32Array(tokens * tokens)
    for (let i = 0; i < tokens; i++) mask.fill(HIDDEN, i * tokens + i + 1, (i + 1) * tokens)
    /** @type {Record<string, any>} */
    const feeds = {
      ids: integers([...ids], [1, tokens]),
      positions: integers(
        Array.from(ids, (_, i) => length + i),
        [1, tokens],
      ),
      last: integers([tokens - 1]),
      sizes: integers([used, tokens]),
      mask: tensor(mask, [1, 1, tokens, tokens]),
      pastMask: tensor(new Float32Array(used).fill(HIDDEN, length), [1, 1, 1, used]),
    }
    layers.forEach(({ keys, values }, i) => {
      feeds[`pastKey${i}`] = tensor(used ? keys : new Float32Array(), [1, heads, size, used])
      feeds[`pastValue${i}`] = tensor(used ? values : new Float32Array(), [1, heads, used, size])
    })
    const outputs = await session.run(feeds)
    const floats = (/** @type {string} */ name) => /** @type {Float32Array} */ (outputs[name].data)
    reserve(length + tokens)
    layers.forEach((layer, i) => {
      copy({ keys: floats(`key${i}`), values: floats(`value${i}`) }, tokens, layer, length, tokens)
    })
    length += tokens
    return floats('logits')
  }

  return steps({
    forward,
    truncate: (tokens) => {
      length = tokens
    },
  })
}
