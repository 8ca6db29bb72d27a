// The only WebAssembly that the page runs itself: plain.wasm, the feed-forward network in plain C. The page
// times it beside the package's builds, and the package does not ship it. One thread, one number at a time,
// float64 sums.

/** `./build.sh` makes the file; Vite copies it beside the page. */
const PLAIN_URL = new URL('../../../build/wasm/plain.wasm', import.meta.url)

/**
 * A feed-forward network as Float32Arrays, row-major:
 *   inWeight [hiddenDim, embDim], inBias [hiddenDim], outWeight [embDim, hiddenDim], outBias [embDim].
 */
export interface Weights {
  inWeight: Float32Array
  inBias: Float32Array
  outWeight: Float32Array
  outBias: Float32Array
}

/**
 * y = gelu(x · inWeightᵀ + inBias) · outWeightᵀ + outBias, with the tanh form of GELU.
 *
 * @param x [rows, embDim]; rows is fixed when the network is loaded
 * @returns y [rows, embDim]; a copy
 */
type FeedForward = (x: Float32Array) => Float32Array

/** What plain.wasm exports. The pointers are byte offsets into its memory. */
interface PlainExports {
  memory: WebAssembly.Memory
  /** The first free byte. */
  __heap_base: WebAssembly.Global
  gpt_feedforward_forward_ref: (
    y: number,
    hidden: number,
    x: number,
    inWeight: number,
    inBias: number,
    outWeight: number,
    outBias: number,
    rows: number,
    embDim: number,
    hiddenDim: number,
    approximate: number,
  ) => void
}

const TANH = 0 // the form of GELU: GPT_GELU_TANH in c/gpt_layers.h
const PAGE_SIZE = 65536
const ALIGNMENT = 16

/**
 * Loads plain.wasm and puts a network into its memory. Each call of the result copies x in and y out: 18 kB
 * each way for GPT-2's network on 6 rows.
 *
 * @param rows of every x
 */
export async function loadPlainFeedForward(weights: Weights, rows: number): Promise<FeedForward> {
  return plainFeedForward(await WebAssembly.compileStreaming(fetch(PLAIN_URL)), weights, rows)
}

/**
 * @param module plain.wasm
 * @param rows of every x
 */
export function plainFeedForward(
  module: WebAssembly.Module,
  { inWeight, inBias, outWeight, outBias }: Weights,
  rows: number,
): FeedForward {
  const instance = new WebAssembly.Instance(module)
  const { memory, __heap_base, gpt_feedforward_forward_ref } = instance.exports as unknown as PlainExports
  const hiddenDim = inBias.length
  const embDim = outBias.length
  let end = __heap_base.value
  const reserve = (count: number) => {
    const offset = Math.ceil(end / ALIGNMENT) * ALIGNMENT
    end = offset + count * Float32Array.BYTES_PER_ELEMENT
    return offset
  }
  const x = reserve(rows * embDim)
  const y = reserve(rows * embDim)
  const hidden = reserve(2 * hiddenDim) // float64
  const parameters = [inWeight, inBias, outWeight, outBias].map((values) => ({
    offset: reserve(values.length),
    values,
  }))
  memory.grow(Math.max(0, Math.ceil((end - memory.buffer.byteLength) / PAGE_SIZE)))
  for (const { offset, values } of parameters) new Float32Array(memory.buffer, offset).set(values)
  const [w1, b1, w2, b2] = parameters.map(({ offset }) => offset)

  return (input) => {
    if (input.length !== rows * embDim)
      throw new RangeError(`x should have ${rows * embDim} numbers, got ${input.length}`)
    new Float32Array(memory.buffer, x).set(input)
    gpt_feedforward_forward_ref(y, hidden, x, w1, b1, w2, b2, rows, embDim, hiddenDim, TANH)
    return new Float32Array(memory.buffer, y, rows * embDim).slice()
  }
}
