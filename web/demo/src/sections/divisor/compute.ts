// A row's variance with both divisors, and the row normalized with each. Uses only the package.

import type { Gpt } from 'gpt-layers'

export function describe(gpt: Gpt, values: readonly number[], eps: number) {
  return gpt.scope(() => {
    const y = gpt.tensor([...values])
    const centered = y.sub(y.mean())
    return {
      sum: centered.mul(centered).sum().item(),
      ways: [true, false].map((unbiased) => {
        const variance = y.var({ unbiased })
        const normalized = centered.div(variance.add(eps).sqrt())
        const squares = normalized.mul(normalized).mean().item()
        return { variance: variance.item(), values: Array.from(normalized.data), squares }
      }),
    }
  })
}
