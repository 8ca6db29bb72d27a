// A row's variance with both divisors, and the row normalized with each. Uses only the package.

import { scope, tensor } from 'gpt-layers'
import { normSteps } from '../../example.ts'

export function describe(values: readonly number[], eps: number) {
  return scope(() => {
    const y = tensor([...values])
    const norms = (['n-1', 'n'] as const).map((divisor) => normSteps(y, { divisor, eps }))
    const [{ centered }] = norms
    return {
      sum: centered.mul(centered).sum().item(),
      norms: norms.map(({ variance, divided }) => ({
        variance: variance.item(),
        values: Array.from(divided.data),
        squares: divided.mul(divided).mean().item(),
      })),
    }
  })
}
