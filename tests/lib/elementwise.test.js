// The larger and the smaller of two tensors, products that broadcast, squares, sine and cosine of large numbers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { golden, gradientOf, loadForTest, unpack, usedMemory } from './support.js'

const { large } = golden('operations')
const gpt = await loadForTest()

test('maximum and minimum take a number, as the second operand', () => {
  const x = gpt.parameter(gpt.tensor([-1, 0, 2, NaN]))
  const y = gpt.maximum(x, 0)
  assert.deepEqual(y.toArray(), [0, 0, 2, NaN])
  y.backward(gpt.ones([4]))
  assert.deepEqual(gradientOf(x).toArray(), [0, 0.5, 1, 1])
  assert.deepEqual(gpt.minimum(gpt.tensor([[1], [3]]), 2).toArray(), [[1], [2]])
})

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

test('sigmoid and silu are right at their ends', () => {
  const x = gpt.tensor([-Infinity, -1000, -88, 0, 88, Infinity, NaN])
  const [s, y] = [x.sigmoid().data.slice(), x.silu().data.slice()]
  assert.deepEqual([s[0], s[1], s[3], s[4], s[5], s[6]], [0, 0, 0.5, 1, 1, NaN])
  assert.ok(Math.abs(s[2] / 6.054601895401186e-39 - 1) <= 6e-7)
  assert.deepEqual([y[0], y[1], y[3], y[4], y[5], y[6]], [NaN, -0, 0, 88, Infinity, NaN])
})

test('operations that broadcast keep no copies of their inputs', () => {
  const [x, y, b] = [gpt.ones([64, 1, 64]), gpt.ones([1, 64, 1]), gpt.ones([1, 64, 64])]
  const mask = gpt.ones([64, 64])
  const before = usedMemory(gpt)
  const results = [x.gt(y), gpt.where(mask, x, y), gpt.maximum(x, y), x.matmul(b), x.maskedFill(mask, 0)]
  const size = 4 * results.reduce((sum, one) => sum + one.size, 0)
  assert.ok(usedMemory(gpt) - before <= size + 1024, `${usedMemory(gpt) - before} of ${size} bytes`)
})
