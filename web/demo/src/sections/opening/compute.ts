// The opening's numbers: a row before layer normalization, on its way, and after it.

import type { Gpt, Tensor } from 'gpt-layers'

export const COLUMNS = 6

/** How far a dot can be moved. */
export const LIMITS: readonly [number, number] = [-2.4, 2.4]

/** What PyTorch's nn.LayerNorm(6) gives for the example's outputs, to four decimals. */
const PYTORCH = [
  [0.6745, 1.547, -0.9549, 0.6431, -0.9549, -0.9549],
  [-0.0207, 0.1228, -1.1913, 1.6619, 0.6186, -1.1913],
]

interface Row {
  values: number[]
  mean: number
  /** Divided by n. */
  variance: number
}

/** @param x [1, n] */
const rowOf = (x: Tensor): Row => ({
  values: Array.from(x.data),
  mean: x.mean().item(),
  variance: x.var({ unbiased: false }).item(),
})

/** A row before layer normalization and after it. */
export function normalize(gpt: Gpt, values: readonly number[]): { before: Row; after: Row } {
  return gpt.scope(() => {
    const x = gpt.tensor([...values], [1, values.length])
    const normalized = gpt.noGrad(() => new gpt.LayerNorm(values.length).forward(x))
    return { before: rowOf(x), after: rowOf(normalized) }
  })
}

/**
 * A row on its way through layer normalization.
 *
 * @param way from 0, the row as it is, by 1, minus its mean, to 2, divided by its deviation
 */
export function onTheWay(gpt: Gpt, values: readonly number[], way: number): Row {
  return gpt.scope(() => {
    const x = gpt.tensor([...values], [1, values.length])
    const { eps } = new gpt.LayerNorm(values.length)
    const centered = x.sub(x.mean().item() * Math.min(1, way))
    const deviation = Math.sqrt(x.var({ unbiased: false }).item() + eps)
    return rowOf(centered.div(1 + (deviation - 1) * Math.max(0, way - 1)))
  })
}

/**
 * @param after both normalized rows
 * @returns how many are PyTorch's, to four decimals
 */
export const agreeing = (after: number[][]): number =>
  after
    .flat()
    .filter((value, i) => Number(value.toFixed(4)) === PYTORCH[Math.floor(i / COLUMNS)][i % COLUMNS]).length
