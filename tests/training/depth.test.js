import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadForTest } from '../lib/support.js'
import { train } from './depth.js'

const gpt = await loadForTest()

/**
 * Trains a stack. The loss starts near 1, the loss of the mean as the guess.
 *
 * @param {Parameters<typeof train>[1]} options
 * @param {{ ratio: [number, number], last: [number, number] }} range ratio: of the first layer's gradient to
 *   the last layer's; last: of the loss after training
 * @returns {number[]} the gradients' norms
 */
function expect(options, { ratio: [low, high], last: [least, most] }) {
  const { gradients, last } = train(gpt, options)
  const ratio = gradients[0] / gradients[gradients.length - 1]
  const name = `${JSON.stringify(options)}: ratio of the gradients ${ratio}, loss ${last}`
  assert.ok(ratio >= low && ratio <= high && last >= least && last <= most, name)
  return gradients
}

test('30 layers without layer norm: the gradient vanishes and the stack does not learn', () => {
  const gradients = expect({ depth: 30, norm: false }, { ratio: [0, 1e-9], last: [0.95, 1.05] })
  assert.equal(gradients.length, 30)
})

test('30 layers without layer norm and with larger weights: activations and gradients explode', () => {
  const gradients = expect(
    { depth: 30, norm: false, gain: 4, steps: 20 },
    { ratio: [0, 1], last: [1e6, Infinity] },
  )
  assert.ok(gradients[0] > 1e9, `${gradients[0]}`)
})

for (const gain of [1, 4]) {
  test(`30 layers with layer norm, weights ${gain} times PyTorch’s: gradients keep their size, the stack learns`, () => {
    expect({ depth: 30, norm: true, gain }, { ratio: [1e-2, 1e2], last: [0, 0.1] })
  })
}
