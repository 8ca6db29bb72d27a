// Files of GPT-2 in Hugging Face's layout, made of small models.

/** @import { GPTModel } from 'gpt-layers' */

/** @typedef {{ name: string, dtype: string, shape: readonly number[], data: Uint8Array }} Entry */

/**
 * A file in the safetensors format. Its metadata has the number of heads, as that of our own files.
 *
 * @param {readonly Entry[]} entries
 * @param {{ nHeads?: number | null }} [options] null: the file does not say it
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function fileOf(entries, { nHeads = 1 } = {}) {
  let end = 0
  const header = Object.fromEntries(
    entries.map(({ name, dtype, shape, data }) => {
      const begin = end
      end += data.length
      return [name, { dtype, shape, data_offsets: [begin, end] }]
    }),
  )
  const metadata = { format: 'pt', ...(nHeads !== null && { n_head: String(nHeads) }) }
  const text = Buffer.from(JSON.stringify({ __metadata__: metadata, ...header }))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  return new Uint8Array(Buffer.concat([length, text, ...entries.map(({ data }) => data)]))
}

/** The bytes of some values in a dtype. @type {Record<string, (values: Float32Array) => ArrayBufferView>} */
const ENCODE = {
  F32: (values) => values,
  F64: (values) => new Float64Array(values),
  BF16: (values) => Uint16Array.from(bitsOf(values), (bits) => bits >>> 16),
  F16: (values) => Uint16Array.from(bitsOf(values), half),
}

/** @param {Float32Array} values */
const bitsOf = (values) => new Uint32Array(values.slice().buffer)

/**
 * @param {number} bits a float32's, from 2^-14 to 65504, or 0
 * @returns {number} those of the float16 below
 */
const half = (bits) =>
  ((bits >>> 16) & 0x8000) | ((bits & 0x7fffffff) === 0 ? 0 : ((bits & 0x7fffffff) >>> 13) - (112 << 10))

/**
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {Float32Array} values
 * @param {string} [dtype]
 * @returns {Entry}
 */
export function entryOf(name, shape, values, dtype = 'F32') {
  const { buffer, byteOffset, byteLength } = ENCODE[dtype](values)
  return { name, dtype, shape, data: new Uint8Array(buffer, byteOffset, byteLength).slice() }
}

/**
 * The tensors of a model under Hugging Face's names, in the order of the names: the matrices of the
 * feed-forward network transposed, and each block with the mask of its attention, as in the files of old.
 *
 * @param {GPTModel} model
 * @param {{ prefix?: string, dtype?: string }} [options] prefix: `transformer.` or none
 * @returns {Entry[]}
 */
export function gpt2Entries(model, { prefix = '', dtype = 'F32' } = {}) {
  const entries = model.namedParameters().map(([name, tensor]) => {
    const theirs = name
      .replace('tok_emb', 'wte')
      .replace('pos_emb', 'wpe')
      .replace('final_norm', 'ln_f')
      .replace('trf_blocks', 'h')
      .replace(/norm(\d)/, 'ln_$1')
      .replace('.scale', '.weight')
      .replace('.shift', '.bias')
      .replace('ff.layers.0', 'mlp.c_fc')
      .replace('ff.layers.2', 'mlp.c_proj')
    const stored = theirs.includes('mlp') && theirs.endsWith('weight') ? tensor.transpose(0, 1) : tensor
    const full = name === 'out_head.weight' ? 'lm_head.weight' : prefix + theirs
    return entryOf(full, stored.shape, stored.data, dtype)
  })
  const n = model.contextLength
  const masks = model.trfBlocks.map((_, i) => ({
    name: `${prefix}h.${i}.attn.bias`,
    dtype: 'U8',
    shape: [1, 1, n, n],
    data: Uint8Array.from({ length: n * n }, (_, k) => Number(k % n <= Math.floor(k / n))),
  }))
  return [...entries, ...masks].sort((a, b) => (a.name < b.name ? -1 : 1))
}
