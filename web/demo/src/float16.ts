// Half precision: each result is rounded to the nearest float16. A tie is rounded to the even one.

const OVERFLOW = 65520 // from here on the nearest float16 is ∞; the largest is 65,504
const MAGIC = 1.5 * 2 ** 52 // added and subtracted, it rounds a float64 to an integer, also to the even one

type Round = (value: number) => number

/**
 * Rounds what float64 has computed of float16 values. That rounds only once: sums, differences and products of
 * two float16 are exact in float64; a quotient or a root is the middle of two float16, or further from it than
 * float64 rounds.
 */
export const float16: Round = (value) => {
  const size = Math.abs(value)
  if (size >= OVERFLOW) return value * Infinity
  const unit = 2 ** (Math.max(-14, Math.floor(Math.log2(size))) - 10) // between two float16
  return Math.sign(value) * (size / unit + MAGIC - MAGIC) * unit
}

/**
 * Layer normalization, one rounded operation after the other: what a model computes whose norms are stored as
 * ReduceMean, Sub, Pow, ReduceMean, Sqrt, Div.
 *
 * @param scale gamma @param shift beta
 */
export function layerNorm(
  round: Round,
  x: readonly number[],
  { scale, shift, eps = 1e-5 }: { scale: ArrayLike<number>; shift: ArrayLike<number>; eps?: number },
) {
  const add = (values: readonly number[]) => values.reduce((sum, value) => round(sum + value), 0)
  const row = x.map(round)
  const mean = round(add(row) / row.length)
  const centered = row.map((value) => round(value - mean))
  const squares = centered.map((value) => round(value * value))
  const sum = add(squares)
  const variance = round(sum / row.length)
  const deviation = round(Math.sqrt(round(variance + round(eps))))
  const normalized = centered.map((value) => round(value / deviation))
  const y = normalized.map((value, i) => round(round(value * round(scale[i])) + round(shift[i])))
  return { mean, centered, squares, sum, variance, deviation, normalized, y }
}
