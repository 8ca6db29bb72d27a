// The larger and the smaller of two tensors, products that broadcast, squares, sine and cosine of large numbers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { golden, loadForTest, unpack, usedMemory } from './support.js'

const { large } = golden('operations')
const gpt = await loadForTest()

test('sin and cos of large numbers are right to half a unit in the last place', () => {
  const x = gpt.tensor(unpack(large.x))
  for (const name of /** @type {const} */ (['sin', 'cos'])) {
    const exact = unpack(large[name])
    x[name]().data.forEach((value, i) => {
      assert.ok(Math.abs(value - exact[i]) <= 7e-8 * Math.abs(exact[i]), `${name} of ${x.data[i]}: ${value}`)
    })
  }
  assert.deepEqual(gpt.tensor([-0, Infinity]).sin().toArray(), [-0, NaN])
  assert.deepEqual(gpt.tensor([-0, -Infinity]).cos().toArray(), [1, NaN])
})

test('operations that broadcast keep no copies of their inputs', () => {
  const [x, y, b] = [gpt.ones([64, 1, 64]), gpt.ones([1, 64, 1]), gpt.ones([1, 64, 64])]
  const mask = gpt.ones([64, 64])
  const before = usedMemory(gpt)
  const results = [x.gt(y), gpt.where(mask, x, y), gpt.maximum(x, y), x.matmul(b), x.maskedFill(mask, 0)]
  const size = 4 * results.reduce((sum, one) => sum + one.size, 0)
  assert.ok(usedMemory(gpt) - before <= size + 1024, `${usedMemory(gpt) - before} of ${size} bytes`)
})
