// The opening's numbers: a row before layer normalization, on its way, and after it.

import type { Gpt, Tensor } from 'gpt-layers'

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
