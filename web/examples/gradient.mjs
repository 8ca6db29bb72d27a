// The gradient of layer normalization beside the one by central differences,
// dL/dx[i] ≈ (L(x[i] + h) - L(x[i] - h)) / 2h.

import * as gpt from 'gpt-layers'

await gpt.load()
gpt.manualSeed(123)
const [norm, x, weights] = [new gpt.LayerNorm(5), gpt.parameter(gpt.randn([2, 5])), gpt.randn([2, 5])]
const loss = () => norm.forward(x).mul(weights).sum()
loss().backward()
console.log(`By backward:\n${x.grad}`)

const h = 2 ** -7 // smaller: float32 rounds more. Larger: the line through two points is less of a tangent
const slopes = Array.from(x.data.slice(), (value, i) => {
  const [after, before] = [h, -h].map((step) => ((x.data[i] = value + step), loss().item()))
  x.data[i] = value
  return (after - before) / (2 * h)
})
console.log(`By differences:\n${gpt.tensor(slopes, x.shape)}`)
