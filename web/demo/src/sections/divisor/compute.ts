// Computes the variance with both divisors. Uses only the package.

import type { Gpt, Tensor } from 'gpt-layers'

const INPUTS = 5
/** Numbers drawn at most for all samples; they must fit into the time of a frame. */
const DRAWS = 2 ** 16
const MOST_SAMPLES = 4000

/** The end of the histograms; larger values are counted in the last bin. */
export const HISTOGRAM = { end: 3, bins: 60 }

/** The outputs of Linear(5, n) and ReLU for the first of two samples: the example's layer, n wide. */
export function drawRow(gpt: Gpt, seed: number, n: number): number[] {
  return gpt.scope(() => {
    gpt.manualSeed(seed)
    const batch = gpt.randn([2, INPUTS])
    const layer = new gpt.Sequential(new gpt.Linear(INPUTS, n), new gpt.ReLU())
    const outputs = gpt.noGrad(() => layer.forward(batch))
    return Array.from(outputs.data.slice(0, n))
  })
}

/** A row's mean, the sum of its squared distances from it, and that sum divided by n - 1 and by n. */
export function describe(gpt: Gpt, values: readonly number[]) {
  return gpt.scope(() => {
    const x = gpt.tensor([...values])
    const mean = x.mean().item()
    const distances = x.sub(mean)
    return {
      mean,
      sum: distances.mul(distances).mean().item() * values.length,
      unbiased: x.var().item(),
      biased: x.var({ unbiased: false }).item(),
    }
  })
}

/** Draws many samples of n numbers from N(0, 1), whose variance is 1, and estimates it with both divisors. */
export function estimate(gpt: Gpt, seed: number, n: number) {
  const samples = Math.min(MOST_SAMPLES, Math.floor(DRAWS / n))
  return gpt.scope(() => {
    gpt.manualSeed(seed)
    const x = gpt.randn([samples, n])
    const one = (variances: Tensor) => ({
      average: variances.mean().item(),
      shares: histogram(variances.data),
    })
    return { samples, unbiased: one(x.var({ dim: -1 })), biased: one(x.var({ dim: -1, unbiased: false })) }
  })
}

/** @returns the share of the values in each bin */
function histogram(values: Float32Array): number[] {
  const { end, bins } = HISTOGRAM
  const counts = new Array(bins).fill(0)
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value / end) * bins))]++
  return counts.map((count) => count / values.length)
}
