import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertCentralDifferences,
  assertClose,
  assertGradients,
  backwardThrough,
  golden,
  loadForTest,
  unpack,
} from './support.js'

const { cases, special } = golden('softmax')
const gpt = await loadForTest()

test('softmax and its gradient are PyTorch’s at odd sizes and at 768', () => {
  for (const { seed, shape, scale, ...expected } of cases) {
    gpt.manualSeed(seed)
    const x = gpt.randn(shape).mul(scale)
    assertGradients(new gpt.Softmax(), x, gpt.randn(shape), expected, { forward: 1e-6, backward: 2e-5 })
  }
})

test('softmax of NaN, infinities and huge values is PyTorch’s', () => {
  for (const { x, out } of special)
    assertClose(new gpt.Softmax().forward(gpt.tensor(unpack(x), x.shape)), out, 1e-6)
})

test('softmax’s gradient agrees with central differences', () => {
  for (const shape of [[1], [3], [4, 17], [2, 2, 65]])
    assertCentralDifferences(gpt, new gpt.Softmax(), gpt.randn(shape))
})

test('softmax of many rows gives each row the bits it gets alone, on any number of threads', () => {
  const x = gpt.randn([500, 97])
  const layer = new gpt.Softmax().eval()
  const y = layer.forward(x)
  for (let r = 0; r < 500; r += 33) {
    const row = layer.forward(gpt.tensor(x.data.slice(97 * r, 97 * r + 97)))
    assert.deepEqual([...row.data], [...y.data.slice(97 * r, 97 * r + 97)])
    assert.ok(Math.abs(row.data.reduce((sum, value) => sum + value, 0) - 1) <= 1e-6)
  }
})

test('softmax takes an empty batch and rows without elements, forward and backward', () => {
  const layer = new gpt.Softmax()
  for (const shape of [
    [0, 3],
    [3, 0],
  ]) {
    assert.deepEqual(backwardThrough(layer, gpt.zeros(shape), gpt.zeros(shape)).shape, shape)
  }
})
