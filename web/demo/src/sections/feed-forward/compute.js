// Computes GPT-2's feed-forward network on two sequences of three tokens, and times it. Uses only the
// package.

/** @import { Gpt } from 'gpt-layers' */
/** @import { Weights } from '../../plain.js' */

import { GPT_CONFIG_124M } from 'gpt-layers'
import { BATCH, SAMPLES } from './slice.js'

const SAMPLE_TIME = 20 // milliseconds at least: browsers' clocks are coarse
const WARM_UP = 3 // calls

/** Draws the network and its input from a seed. @param {Gpt} gpt @param {number} seed */
export function create(gpt, seed) {
  gpt.manualSeed(seed)
  const layer = new gpt.FeedForward(GPT_CONFIG_124M)
  layer.eval()
  return { layer, x: gpt.rand([...BATCH, GPT_CONFIG_124M.embDim]) }
}

/**
 * @typedef {{ values: Float32Array, mean: Float32Array, variance: Float32Array }} Stage mean, variance: per
 *   token
 */

/**
 * @param {Gpt} gpt
 * @param {number} seed
 * @returns {{ stages: Stage[], sizes: number[] }} stages: in the order of slice.js; sizes: of the parameters
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
 * @param {ReturnType<typeof create>['layer']} layer
 * @returns {Weights} copies of the layer's parameters
 */
export function weightsOf(layer) {
  const [inWeight, inBias, outWeight, outBias] = layer.parameters().map(({ data }) => data.slice())
  return { inWeight, inBias, outWeight, outBias }
}

/**
 * @param {() => void} run
 * @param {() => number} now milliseconds
 * @returns {{ median: number, lower: number, upper: number }} milliseconds per call: median and quartiles of
 *   SAMPLES
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
