// Computes GPT-2's feed-forward network on six tokens, and times it. Uses only the package.

import { GPT_CONFIG_124M, type Gpt } from 'gpt-layers'
import type { Weights } from '../../plain.ts'
import { SAMPLES, TOKENS } from './slice.ts'

const SAMPLE_TIME = 20 // milliseconds at least: browsers' clocks are coarse
const WARM_UP = 3 // calls

/** Draws the network and its tokens from a seed. The tokens have been through a layer norm. */
export function create(gpt: Gpt, seed: number) {
  const { embDim } = GPT_CONFIG_124M
  gpt.manualSeed(seed)
  const layer = new gpt.FeedForward(GPT_CONFIG_124M)
  const norm = () => new gpt.LayerNorm(embDim).forward(gpt.randn([TOKENS, embDim]))
  return { layer, x: gpt.noGrad(() => gpt.scope(norm)) }
}

/** A token's row somewhere on its way, and the row's mean and variance. */
export type Stage = { name: string; values: Float32Array; mean: number; variance: number }

/**
 * The first token on its way through the network.
 *
 * @param deviation of the token's row
 * @returns sizes: of the parameters
 */
export function look(
  gpt: Gpt,
  network: ReturnType<typeof create>,
  deviation = 1,
): { stages: Stage[]; sizes: number[] } {
  const compute = () => {
    const { layer } = network
    const x = network.x.mul(deviation)
    const linear = layer.layers[0].forward(x)
    const rows = { x, Linear: linear, GELU: layer.layers[1].forward(linear), y: layer.forward(x) }
    const stages = Object.entries(rows).map(([name, row]) => ({
      name,
      values: row.data.slice(0, row.size / TOKENS),
      mean: row.mean({ dim: -1 }).data[0],
      variance: row.var({ dim: -1, unbiased: false }).data[0],
    }))
    return { stages, sizes: layer.parameters().map(({ size }) => size) }
  }
  return gpt.noGrad(() => gpt.scope(compute))
}

/** @returns copies of the layer's parameters */
export function weightsOf(layer: ReturnType<typeof create>['layer']): Weights {
  const [inWeight, inBias, outWeight, outBias] = layer.parameters().map(({ data }) => data.slice())
  return { inWeight, inBias, outWeight, outBias }
}

/**
 * @param now milliseconds
 * @returns milliseconds per call: median and quartiles of SAMPLES
 */
export function time(
  run: () => void,
  now: () => number = () => performance.now(),
): { median: number; lower: number; upper: number } {
  const sample = (calls: number) => {
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
