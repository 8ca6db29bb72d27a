// A tensor's text beside PyTorch's, which tests/golden/printing.py wrote.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTensor } from '../../build/lib/tensor/print.js'
import { golden, loadForTest, unpack } from './support.js'

const gpt = await loadForTest()

for (const { name, shape, factor, f32, options, expected } of golden('printing')) {
  test(`prints as PyTorch does: ${name}`, () => {
    gpt.manualSeed(1)
    const x = factor ? gpt.randn(shape).mul(factor) : gpt.tensor(unpack({ shape, f32 }), shape)
    assert.equal(x.toString(options), expected)
  })
}

test('printing a huge tensor reads its edges only', () => {
  const read = new Set()
  const data = new Proxy({ length: 1e12 }, { get: (_, key) => read.add(key) && 0.5 })
  const text = formatTensor(data, [1e6, 1e6])
  assert.match(text, /^tensor\(\[\[0\.5000, 0\.5000, 0\.5000, {2}\.\.\., 0\.5000, 0\.5000, 0\.5000\],\n/)
  assert.equal(read.size, 36)
})
