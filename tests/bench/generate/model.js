// The model that every contestant gets: GPT-2 124M's shape, with random weights.

/**
 * @typedef {{ vocabSize: number, contextLength: number, embDim: number, nHeads: number, nLayers: number }}
 *   Config
 * @typedef {{ name: string, shape: number[], seed: number, mean: number, deviation: number }} Parameter
 */

/** @type {Config} */
export const GPT2 = { vocabSize: 50257, contextLength: 1024, embDim: 768, nHeads: 12, nLayers: 12 }

/** For a look at whether the bench itself works. @type {Config} */
export const TINY = { vocabSize: 320, contextLength: 1024, embDim: 64, nHeads: 2, nLayers: 2 }

export const EPS = 1e-5

const DEVIATION = 0.02

/**
 * @param {Config} config
 * @returns {Parameter[]} with the names and shapes of Hugging Face's GPT-2, and the distributions of its
 *   initial weights. Biases and norms vary, so that the contestants' agreement covers them.
 */
export function parameters({ vocabSize, contextLength, embDim: dim, nLayers }) {
  const norm = (/** @type {string} */ name) => [
    { name: `${name}.weight`, shape: [dim], mean: 1 },
    { name: `${name}.bias`, shape: [dim] },
  ]
  const linear = (/** @type {string} */ name, /** @type {number} */ ins, /** @type {number} */ outs) => [
    { name: `${name}.weight`, shape: [ins, outs] },
    { name: `${name}.bias`, shape: [outs] },
  ]
  const block = (/** @type {string} */ name) => [
    ...norm(`${name}.ln_1`),
    ...linear(`${name}.attn.c_attn`, dim, 3 * dim),
    ...linear(`${name}.attn.c_proj`, dim, dim),
    ...norm(`${name}.ln_2`),
    ...linear(`${name}.mlp.c_fc`, dim, 4 * dim),
    ...linear(`${name}.mlp.c_proj`, 4 * dim, dim),
  ]
  const all = [
    { name: 'wte.weight', shape: [vocabSize, dim] },
    { name: 'wpe.weight', shape: [contextLength, dim] },
    ...Array.from({ length: nLayers }, (_, i) => block(`h.${i}`)).flat(),
    ...norm('ln_f'),
  ]
  // GPT-2 scales what is added to the residual stream: Radford et al. 2019, section 2.3.
  const scaled = (/** @type {string} */ name) => (name.endsWith('c_proj.weight') ? Math.sqrt(2 * nLayers) : 1)
  return all.map((parameter, i) => {
    return { mean: 0, ...parameter, seed: i + 1, deviation: DEVIATION / scaled(parameter.name) }
  })
}

/** @param {readonly number[]} shape */
export const sizeOf = (shape) => shape.reduce((product, size) => product * size, 1)

// The sum of four bytes, each from 0 to 255: nearly normal, and 124M of them take half a second.
const BYTES_MEAN = 4 * 127.5
const BYTES_DEVIATION = Math.sqrt((4 * (256 ** 2 - 1)) / 12)

/**
 * @param {Parameter} parameter
 * @param {number} [most] how many values a piece has at most
 * @returns {Generator<Float32Array<ArrayBuffer>>} the parameter in pieces, the same for every contestant
 */
export function* pieces({ shape, seed, mean, deviation }, most = 2 ** 20) {
  const factor = deviation / BYTES_DEVIATION
  const offset = mean - factor * BYTES_MEAN
  let state = Math.imul(seed, 0x9e3779b1) | 1 // xorshift32, whose state must not be 0
  for (let left = sizeOf(shape); left > 0; left -= most) {
    const values = new Float32Array(Math.min(most, left))
    for (let i = 0; i < values.length; i++) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      const sum = (state & 255) + ((state >>> 8) & 255) + ((state >>> 16) & 255) + (state >>> 24)
      values[i] = offset + factor * sum
    }
    yield values
  }
}

/** @param {Parameter} parameter @returns {Float32Array<ArrayBuffer>} */
export const draw = (parameter) =>
  pieces(parameter, sizeOf(parameter.shape)).next().value ?? new Float32Array()

/**
 * The model as a safetensors file: the length of the header, the header, and the tensors.
 *
 * @param {Config} config
 * @returns {Generator<Uint8Array<ArrayBuffer>>} in pieces
 */
export function* safetensors(config) {
  let end = 0
  const header = parameters(config).map(({ name, shape }) => {
    const start = end
    end += 4 * sizeOf(shape)
    return [name, { dtype: 'F32', shape, data_offsets: [start, end] }]
  })
  const text = new TextEncoder().encode(JSON.stringify(Object.fromEntries(header)))
  yield new Uint8Array(BigUint64Array.of(BigInt(text.length)).buffer)
  yield text
  for (const parameter of parameters(config)) {
    for (const values of pieces(parameter)) yield new Uint8Array(values.buffer)
  }
}

/** @param {number} length @returns {number[]} a text: the ids of its tokens */
export const idsOf = (length) => Array.from({ length }, (_, i) => (i * 11 + Math.floor(i / 26)) % 26)
