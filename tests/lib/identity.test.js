import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gradientOf, loadForTest } from './support.js'

const gpt = await loadForTest()

test('Identity gives x in the same memory, passes the gradient on, and has no parameter', () => {
  const layer = new gpt.Identity()
  const x = gpt.parameter(gpt.tensor([[NaN, -0, Infinity]]))
  const y = layer.forward(x)
  assert.deepEqual([y.shape, y.byteOffset], [x.shape, x.byteOffset])
  y.backward(gpt.tensor([[1, 2, 3]]))
  assert.deepEqual(gradientOf(x).toArray(), [[1, 2, 3]])
  assert.deepEqual(layer.stateDict(), {})
  x.dispose()
  assert.ok(Object.is(y.data[1], -0))
})
