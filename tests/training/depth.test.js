import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadForTest } from '../lib/support.js'
import { train } from './depth.js'

const gpt = await loadForTest()

/** @param {object} options the loss starts near 1, what guessing the mean costs */
function expect(options, { ratio: [low, high], last: [least, most] }) {
  const { gradients, last } = train(gpt, options)
  const ratio = gradients[0] / gradients.at(-1)
  const name = `${JSON.stringify(options)}: first to last layer's gradient ${ratio}, loss ${last}`
  assert.ok(ratio >= low && ratio <= high && last >= least && last <= most, name)
  return gradients
}

test('30 layers without layer norm: the gradient vanishes on its way back, and nothing is learnt', () => {
  const gradients = expect({ depth: 30, norm: false }, { ratio: [0, 1e-9], last: [0.95, 1.05] })
  assert.equal(gradients.length, 30)
})

test('30 layers without layer norm, of larger weights: activations and gradients explode', () => {
  const gradients = expect(
    { depth: 30, norm: false, gain: 4, steps: 20 },
    { ratio: [0, 1], last: [1e6, Infinity] },
  )
  assert.ok(gradients[0] > 1e9, `${gradients[0]}`)
})

for (const gain of [1, 4]) {
  test(`30 layers with layer norm, of weights ${gain} times PyTorch’s: the gradient keeps its size, and they learn`, () => {
    expect({ depth: 30, norm: true, gain }, { ratio: [1e-2, 1e2], last: [0, 0.1] })
  })
}
