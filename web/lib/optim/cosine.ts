import { checkInteger, checkOptions, checkProbability, named } from '../check.ts'

export interface CosineOptions {
  /** steps in which the factor rises; 0 by default */
  warmup?: number
  /** the step from which on the factor is `min`, after the warm-up */
  steps: number
  /** the lowest factor, from 0 to 1; 0 by default, 0.1 in nanoGPT */
  min?: number
}

/**
 * The schedule of GPT-2 and nanoGPT as the factor of a learning rate: a linear warm-up, then half a cosine.
 * With w = warmup:
 *
 *     factor(i) = (i + 1) / (w + 1)                                                  i < w
 *     factor(i) = min + (1 - min) · (1 + cos(π · (i - w) / (steps - w))) / 2         w <= i <= steps
 *     factor(i) = min                                                                i > steps
 *
 * @returns a function of the step 0, 1, ...: `optimizer.lr = 6e-4 * factor(i)` before step i
 * @example
 * const factor = gpt.cosineWithWarmup({ warmup: 4, steps: 10, min: 0.1 })
 * Array.of(0, 3, 4, 7, 10, 99).map((i) => Number(factor(i).toFixed(2))) // [0.2, 0.8, 1, 0.55, 0.1, 0.1]
 */
export const cosineWithWarmup = /* @__PURE__ */ named(
  'cosineWithWarmup',
  (options: CosineOptions): ((step: number) => number) => {
    const defaults: CosineOptions & { warmup: number; min: number } = { warmup: 0, steps: NaN, min: 0 }
    const { warmup, steps, min } = checkOptions(options, defaults)
    checkInteger('warmup', warmup, 0, Number.MAX_SAFE_INTEGER - 1)
    checkInteger('steps', steps, warmup + 1, Number.MAX_SAFE_INTEGER)
    checkProbability('min', min)
    return (step) => {
      if (step < warmup) return (step + 1) / (warmup + 1)
      const share = Math.min(1, (step - warmup) / (steps - warmup))
      return min + ((1 - min) * (1 + Math.cos(Math.PI * share))) / 2
    }
  },
)
