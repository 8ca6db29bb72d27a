// GPT-2's feed-forward network on two sequences of three tokens, and how long it takes. Nothing here knows the page.

/** @import { Gpt } from 'gpt-layers' */

import { GPT_CONFIG_124M } from 'gpt-layers'
import { BATCH, SAMPLES } from './slice.js'

const SAMPLE_TIME = 20 // milliseconds at least, for the clocks of browsers are coarse
const WARM_UP = 3 // calls

/** @param {Gpt} gpt @param {number} seed */
export function create(gpt, seed) {
  gpt.manualSeed(seed)
  const layer = new gpt.FeedForward(GPT_CONFIG_124M)
  layer.eval()
  return { layer, x: gpt.rand([...BATCH, GPT_CONFIG_124M.embDim]) }
}

/** @typedef {{ values: Float32Array, mean: Float32Array, variance: Float32Array }} Stage mean and variance of each token */

/**
 * @param {Gpt} gpt
 * @param {number} seed
 * @returns {{ stages: Stage[], sizes: number[] }} in slice.js's order; sizes of the parameters
 */
export function look(gpt, seed) {
  return gpt.scope(() => {
    const { layer, x } = create(gpt, seed)
    const widened = layer.layers[0].forward(x)
    const stages = [x, widened, layer.layers[1].forward(widened), layer.forward(x)].map((tensor) => ({
      values: tensor.data.slice(),
      mean: tensor.mean({ dim: -1 }).data.slice(),
      variance: tensor.var({ dim: -1, unbiased: false }).data.slice(),
    }))
    return { stages, sizes: layer.parameters().map(({ size }) => size) }
  })
}

/**
 * The plain C, in WebAssembly but on one thread and one number at a time, with float64 sums.
 *
 * @param {WebAssembly.Module} module plain.wasm
 * @param {ReturnType<typeof create>} network
 * @returns {{ run: () => void, y: () => Float32Array }}
 */
export function plain(module, { layer, x }) {
  const { memory, __heap_base, gpt_feedforward_forward_ref } = /** @type {any} */ (
    new WebAssembly.Instance(module).exports
  )
  const { embDim, hiddenDim } = layer
  const rows = x.size / embDim
  let end = __heap_base.value
  const place = (/** @type {number} */ count) => {
    const at = end
    end += Math.ceil((count * 4) / 16) * 16
    return at
  }
  const [y, scratch] = [place(x.size), place(hiddenDim)]
  const inputs = [x, ...layer.parameters()].map((tensor) => ({ at: place(tensor.size), tensor }))
  memory.grow(Math.max(0, Math.ceil((end - memory.buffer.byteLength) / 65536)))
  for (const { at, tensor } of inputs) new Float32Array(memory.buffer, at, tensor.size).set(tensor.data)
  const TANH = 0
  return {
    run() {
      const status = gpt_feedforward_forward_ref(
        y,
        scratch,
        ...inputs.map(({ at }) => at),
        rows,
        embDim,
        hiddenDim,
        TANH,
      )
      if (status !== 0) throw new Error(`the plain C refused, with status ${status}`)
    },
    y: () => new Float32Array(memory.buffer, y, x.size).slice(),
  }
}

/**
 * @param {() => void} run
 * @param {() => number} now milliseconds
 * @returns {{ median: number, lower: number, upper: number }} milliseconds a call: the median of SAMPLES, and what the middle half of them lies between
 */
export function time(run, now = () => performance.now()) {
  const sample = (/** @type {number} */ calls) => {
    const start = now()
    for (let i = 0; i < calls; i++) run()
    return now() - start
  }
  sample(WARM_UP)
  let calls = 1
  while (sample(calls) < SAMPLE_TIME) calls *= 2
  const times = Array.from({ length: SAMPLES }, () => sample(calls) / calls).sort((a, b) => a - b)
  const quarter = SAMPLES >> 2
  return { median: times[SAMPLES >> 1], lower: times[quarter], upper: times[SAMPLES - 1 - quarter] }
}
