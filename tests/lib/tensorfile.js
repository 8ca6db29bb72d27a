// Safetensors files by hand: any header, and those of small models, tensor by tensor.

/** @typedef {{ name: string, dtype: string, shape: readonly number[], data: Uint8Array }} Entry a tensor */

/**
 * @param {object | string} header
 * @param {number | Uint8Array} [data] the bytes after the header; a number: so many zeros
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function json(header, data = 0) {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  return new Uint8Array(Buffer.concat([length, text, typeof data === 'number' ? Buffer.alloc(data) : data]))
}

/** A tensor in a header. @param {number} begin @param {number} end @param {object} [fields] other ones */
export const entry = (begin, end, fields = {}) => ({
  dtype: 'F32',
  shape: [(end - begin) / 4],
  data_offsets: [begin, end],
  ...fields,
})

/**
 * @param {readonly Entry[]} entries
 * @param {{ nHeads?: unknown }} [options] what the metadata says; null: the file does not say it
 */
export function fileOf(entries, { nHeads = 1 } = {}) {
  let end = 0
  const header = entries.map(({ name, dtype, shape, data }) => {
    const begin = end
    end += data.length
    return [name, { dtype, shape, data_offsets: [begin, end] }]
  })
  const metadata = { format: 'pt', ...(nHeads !== null && { n_head: String(nHeads) }) }
  const parts = entries.map(({ data }) => data)
  return json({ __metadata__: metadata, ...Object.fromEntries(header) }, Buffer.concat(parts))
}

/** @param {Uint8Array} file @returns {Entry[]} its tensors */
export function entriesOf(file) {
  const view = Buffer.from(file.buffer, file.byteOffset, file.length)
  const begin = 8 + Number(view.readBigUInt64LE())
  const { __metadata__: _, ...header } = JSON.parse(view.toString('utf8', 8, begin))
  return Object.entries(header).map(
    ([
      name,
      {
        dtype,
        shape,
        data_offsets: [from, to],
      },
    ]) => {
      return { name, dtype, shape, data: new Uint8Array(view.subarray(begin + from, begin + to)) }
    },
  )
}

/**
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {Float32Array | number} values a number: all are this one
 * @returns {Entry}
 */
export function entryOf(name, shape, values) {
  const size = shape.reduce((product, n) => product * n, 1)
  const data = typeof values === 'number' ? new Float32Array(size).fill(values) : values.slice()
  return { name, dtype: 'F32', shape, data: new Uint8Array(data.buffer) }
}

/**
 * The names in a file, changed.
 *
 * @param {Uint8Array} file
 * @param {(name: string) => string} rename
 * @param {{ nHeads?: unknown }} [options]
 */
export const renamed = (file, rename, options) =>
  fileOf(
    entriesOf(file).map((one) => ({ ...one, name: rename(one.name) })),
    options,
  )

/**
 * @param {Uint8Array} bytes
 * @param {readonly number[]} [sizes] the sizes of the chunks, again and again
 * @param {(reason: unknown) => void} [cancel]
 */
export function streamOf(bytes, sizes = [1, 97, 1000, 65_537], cancel) {
  let [begin, i] = [0, 0]
  return new ReadableStream({
    pull(controller) {
      const size = sizes[i++ % sizes.length]
      controller.enqueue(bytes.slice(begin, begin + size))
      begin += size
      if (begin >= bytes.length) controller.close()
    },
    cancel,
  })
}
