// Computes the variance with both divisors. Uses only the package.

import type { Gpt, Tensor } from 'gpt-layers'
import { cellText } from '../../numbers.ts'

const INPUTS = 5
/** Numbers drawn at most for all samples; they must fit into the time of a frame. */
const DRAWS = 2 ** 16
const MOST_SAMPLES = 4000

const DIGITS = 4 // after the point of a printed variance,
const SIGNIFICANT = 2 // of which so many count,
const MOST_DIGITS = 9 // but no more are printed than these

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

/**
 * The sum and both variances as the formulas print them: with so many digits that each printed variance
 * follows from the printed sum.
 */
export function inPrint({ sum, unbiased, biased }: ReturnType<typeof describe>, n: number) {
  const leading = biased > 0 ? SIGNIFICANT - 1 - Math.floor(Math.log10(biased)) : 0
  const digits = Math.min(MOST_DIGITS, Math.max(DIGITS, leading))
  const print = (value: number) => cellText(value, digits)
  const half = 0.4999 * 10 ** -digits // not 0.5, which could be rounded either way
  const near = (value: number, variance: number) => Math.abs(value - Number(variance.toFixed(digits))) < half
  const follows = (to: number) => {
    const printed = Number(sum.toFixed(to))
    return near(printed / (n - 1), unbiased) && near(printed / n, biased)
  }
  let more = sum < 10 ? DIGITS : DIGITS / 2
  while (more < MOST_DIGITS && !follows(more)) more++
  return { sum: cellText(sum, more), unbiased: print(unbiased), biased: print(biased) }
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
