// Two divisors for one sum of squares, by the package. Nothing here knows the page.

/** @import { Gpt, Tensor } from 'gpt-layers' */

const INPUTS = 5
/** How many numbers are drawn for the samples, at most: no more than a frame has time for. */
const DRAWS = 2 ** 16
const MOST_SAMPLES = 4000

/** Where the histograms end; what lies beyond is counted in their last bin. */
export const HISTOGRAM = { end: 3, bins: 60 }

/**
 * The notebook's layer, but n wide: what comes out of Linear(5, n) and ReLU for the first of its two samples.
 *
 * @param {Gpt} gpt
 * @param {number} seed
 * @param {number} n
 */
export function layerRow(gpt, seed, n) {
  return gpt.scope(() => {
    gpt.manualSeed(seed)
    const batch = gpt.randn([2, INPUTS])
    const outputs = new gpt.Sequential(new gpt.Linear(INPUTS, n), new gpt.ReLU()).forward(batch)
    const x = gpt.tensor(outputs.data.slice(0, n), [n])
    const mean = x.mean().item()
    const centred = x.sub(mean)
    const squares = centred.mul(centred)
    const unbiased = x.var().item()
    // What dividing by each leaves as the mean of the row's squares.
    const left = (/** @type {number} */ variance) => (variance > 0 ? squares.div(variance).mean().item() : 0)
    const biased = x.var({ unbiased: false }).item()
    return {
      values: Array.from(x.data),
      mean,
      centred: Array.from(centred.data),
      squares: Array.from(squares.data),
      sum: squares.mean().item() * n,
      unbiased,
      biased,
      leftUnbiased: left(unbiased),
      leftBiased: left(biased),
      normalised: new gpt.LayerNorm(n).forward(x).var({ unbiased: false }).item(),
    }
  })
}

/**
 * Many samples of n numbers from N(0, 1), whose variance is 1, and what both divisors make of each.
 *
 * @param {Gpt} gpt
 * @param {number} seed
 * @param {number} n
 */
export function estimate(gpt, seed, n) {
  const samples = Math.min(MOST_SAMPLES, Math.floor(DRAWS / n))
  return gpt.scope(() => {
    gpt.manualSeed(seed)
    const x = gpt.randn([samples, n])
    const one = (/** @type {Tensor} */ variances) => ({
      average: variances.mean().item(),
      shares: histogram(variances.data),
    })
    return { samples, unbiased: one(x.var({ dim: -1 })), biased: one(x.var({ dim: -1, unbiased: false })) }
  })
}

/** @param {Float32Array} values @returns {number[]} the share of them in each bin */
function histogram(values) {
  const { end, bins } = HISTOGRAM
  const counts = new Array(bins).fill(0)
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value / end) * bins))]++
  return counts.map((count) => count / values.length)
}
