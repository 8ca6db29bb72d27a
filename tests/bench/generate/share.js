// What a token's time is made of: the matrix products alone, beside the whole token and a bare read.

/** @import { GPTModel, Gpt } from '../../../dist/index.js' */
/** @import { Effort } from '../measure.js' */
/** @import { Writer } from './steps.js' */

import { median, takeTurns } from '../measure.js'
import { textOf } from './model.js'

/**
 * @typedef {{ build: string, products: number, read: number, ofRead: number, rest32: number,
 *   rest512: number }} Share of one build with int8 weights, on one thread. products: the bytes per second
 *   that all matrix products of a token read; read: those of a bare read of as many bytes; ofRead: their
 *   ratio; rest32, rest512: which part of a token's time is not matrix products, at this length. Ratios are
 *   medians over the turns
 */

/** @type {Effort} */
export const SHARE_EFFORT = { seconds: 1, rounds: 30, sample: 0.03, patience: 20 }

/** @param {GPTModel} model @returns the layers that multiply by a matrix, in the order of a forward pass */
const linears = (model) => [
  ...model.trfBlocks.flatMap(({ attn, ff }) => [attn.cAttn, attn.cProj, ff.layers[0], ff.layers[2]]),
  model.outHead,
]

/**
 * The products are one `layer.forward` of a row for each layer, in the order of the model. So they read what
 * a token reads, from memory as a token does, and include JavaScript's share of each call.
 *
 * @param {Gpt} gpt
 * @param {GPTModel} model with int8 weights
 * @param {Writer} writer of this model
 * @param {WebAssembly.Module} limits limits.c
 * @param {Effort} effort
 * @returns {Promise<Share>}
 */
export async function share(gpt, model, writer, limits, effort) {
  const layers = linears(model).map((layer) => {
    const [ins, outs] = 'nx' in layer ? [layer.nx, layer.nf] : [layer.inFeatures, layer.outFeatures]
    const scales = Math.ceil(ins / (layer.int8Weight?.groupSize ?? ins))
    return { layer, x: gpt.randn([1, ins]), bytes: outs * (ins + 4 * scales) }
  })
  const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0)
  const products = () => {
    for (const { layer, x } of layers) gpt.scope(() => void layer.forward(x))
  }
  const read = await openRead(limits, bytes)
  const token = (/** @type {number} */ length) => ({
    name: `token at ${length}`,
    before: () => writer.hold(textOf(length - 1)),
    call: () => writer.write(textOf(length).slice(length - 1), 1),
  })
  const own = { name: 'products', call: products }
  const [ours, reads, at32] = await takeTurns([own, { name: 'read', call: read }, token(32)], effort)
  // Not in the same turns: the cache would be filled again in each.
  const [again, at512] = await takeTurns([own, token(512)], effort)
  for (const { x } of layers) x.dispose()
  const ratio = (/** @type {number[]} */ above, /** @type {number[]} */ below) =>
    median(above.map((seconds, i) => seconds / below[i]))
  return {
    build: gpt.build,
    products: bytes / median(ours),
    read: bytes / median(reads),
    ofRead: ratio(reads, ours),
    rest32: 1 - ratio(ours, at32),
    rest512: 1 - ratio(again, at512),
  }
}

/**
 * @param {WebAssembly.Module} module limits.c
 * @param {number} bytes
 * @returns {Promise<() => unknown>} a function that only reads so many bytes of memory
 */
async function openRead(module, bytes) {
  const { exports } = await WebAssembly.instantiate(module)
  const { memory, limit_read_at: read } = /** @type {{ memory: WebAssembly.Memory, limit_read_at: (from:
   number, bytes: number, passes: number) => number }} */ (/** @type {unknown} */ (exports))
  const from = memory.buffer.byteLength
  const size = Math.ceil(bytes / 96) * 96
  memory.grow(Math.ceil(size / 65536))
  new Float32Array(memory.buffer, from).fill(1) // pages that were never written are one page of zeros
  return () => read(from, size, 1)
}
