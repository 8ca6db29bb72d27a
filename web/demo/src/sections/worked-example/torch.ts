// What PyTorch's nn.LayerNorm gives for a row of fewer than eight numbers, on a CPU. It computes in float32: the
// squares of a large number overflow, and a large mean costs digits.

const f = Math.fround

/** a · b + c, rounded once. The product of two float32 is exact in float64. */
const fma = (a: number, b: number, c: number) => f(a * b + c)

/** @param eps added to the variance */
export function torchLayerNorm(values: readonly number[], eps: number): number[] {
  let [mean, squares] = [0, 0]
  values.forEach((value, i) => {
    const delta = f(value - mean)
    mean = f(mean + f(delta / (i + 1)))
    squares = f(squares + f(delta * f(value - mean)))
  })
  // It then adds the sums of an empty part: 0 times the squared mean, which is NaN where that overflows.
  squares = f(squares + f(f(mean * mean) * 0))
  const scale = f(1 / f(Math.sqrt(f(Math.max(0, f(squares / values.length)) + f(eps)))))
  const shift = f(-scale * mean)
  return values.map((value) => fma(value, scale, shift))
}

const SEEN = 1e-4 // a difference in the fourth decimal

/** Whether the numbers differ so that four decimals show it. */
export const differ = (some: readonly number[], others: readonly number[]) =>
  some.some((one, i) => !(Math.abs(one - others[i]) <= SEEN) && !Object.is(one, others[i]))
