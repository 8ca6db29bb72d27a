// Every cell of the notebook that has a result, written with the package and compared with PyTorch's values.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import { assertClose, assertSame, golden, loadForTest, unpack } from './support.js'

const cells = golden('notebook')
const gpt = await loadForTest()
const { Linear, ReLU, Sequential } = gpt
gpt.manualSeed(123)
const batch = gpt.randn([2, 5])
const layer = new Sequential(new Linear(5, 6), new ReLU())
const out = layer.forward(batch)
const mean = out.mean({ dim: -1, keepdim: true })
const variance = out.var({ dim: -1, keepdim: true })
const normed = out.sub(mean).div(variance.sqrt())
const normedMean = normed.mean({ dim: -1, keepdim: true })
const normedVariance = normed.var({ dim: -1, keepdim: true })

test('cell 2: the batch, the weight and the bias are the bits PyTorch draws', () => {
  assertSame(batch, cells['cell 2'].batch)
  assertSame(layer.stateDict()['0.weight'], cells['cell 2'].weight)
  assertSame(layer.stateDict()['0.bias'], cells['cell 2'].bias)
})

test('cell 2: the (2, 6) outputs are the notebook’s, and print as in PyTorch', () => {
  assertClose(out, cells['cell 2'].out, 1e-7)
  assert.equal(String(out), cells['cell 2'].printed)
  assert.match(String(out), /0\.2260, 0\.3470, 0\.0000, 0\.2216, 0\.0000, 0\.0000/)
  assert.match(String(out), /0\.2133, 0\.2394, 0\.0000, 0\.5198, 0\.3297, 0\.0000/)
})

test('cell 3: mean 0.1324 and 0.2170, variance 0.0231 and 0.0398', () => {
  assertClose(mean, cells['cell 3'].mean, 1e-7)
  assertClose(variance, cells['cell 3'].var, 1e-7)
  assert.equal(String(mean), 'tensor([[0.1324],\n        [0.2170]])')
  assert.equal(String(variance), 'tensor([[0.0231],\n        [0.0398]])')
  assert.deepEqual([String(mean), String(variance)], Object.values(cells['cell 3'].printed))
})

test('cell 4: the normalized outputs and their variances of 1', () => {
  assertClose(normed, cells['cell 4'].normed, 1e-6)
  assert.equal(String(normed), cells['cell 4'].printed.normed)
  assert.match(String(normed), /0\.6159,  1\.4126, -0\.8719,  0\.5872, -0\.8719, -0\.8719/)
  assert.match(String(normed), /-0\.0189,  0\.1121, -1\.0876,  1\.5173,  0\.5647, -1\.0876/)
  assert.equal(String(normedVariance), cells['cell 4'].printed.var)
})

test('cell 4: the mean of a normalized row is 9.9341e-09, PyTorch’s own rounding error', () => {
  assert.equal(String(normedMean), cells['cell 4'].printed.mean)
  assert.match(String(normedMean), /9\.9341e-09/)
})

test('cell 5: the same means with scientific notation and without', () => {
  assert.equal(normedMean.toString({ sciMode: true }), cells['cell 5'].printed.scientific)
  assert.equal(normedMean.toString({ sciMode: false }), cells['cell 5'].printed.plain)
  assert.equal(normedMean.toString({ sciMode: false }), 'tensor([[    0.0000],\n        [    0.0000]])')
})

test('cell 7: layer norm of the batch has mean 0 and biased variance 1', () => {
  const result = new gpt.LayerNorm(5).forward(batch)
  assertClose(result, cells['cell 7'].out, 5e-6)
  assert.equal(String(result), cells['cell 7'].printed.out)
  assert.equal(String(result.var({ dim: -1, unbiased: false, keepdim: true })), cells['cell 7'].printed.var)
  for (const value of result.mean({ dim: -1 }).data) assert.ok(Math.abs(value) < 1e-6)
})

test('cell 7: the means of cell 6’s class print as in PyTorch, including the sign of zero', () => {
  const rowMean = batch.mean({ dim: -1, keepdim: true })
  const rowVariance = batch.var({ dim: -1, keepdim: true, unbiased: false })
  const result = batch.sub(rowMean).div(rowVariance.add(1e-5).sqrt())
  assert.equal(
    result.mean({ dim: -1, keepdim: true }).toString({ sciMode: false }),
    cells['cell 7'].printed.mean,
  )
})

test('cell 8: GELU is PyTorch’s', () => {
  const { x, out: expected } = cells['cell 8']
  assertClose(new gpt.GELU().forward(gpt.tensor(unpack(x), x.shape)), expected, 1e-6)
})

test('cell 16: FeedForward of GPT_CONFIG_124M gives PyTorch’s values, of shape (2, 3, 768)', () => {
  gpt.manualSeed(123)
  gpt.randn([2, 5])
  new gpt.Linear(5, 6).dispose()
  const feedForward = new gpt.FeedForward(GPT_CONFIG_124M)
  const result = feedForward.forward(gpt.rand([2, 3, 768]))
  assert.deepEqual(result.shape, [2, 3, 768])
  assertClose(result, cells['cell 16'].out, 1e-5)
  assert.equal(String(result), cells['cell 16'].printed)
  assert.equal(
    feedForward.parameters().reduce((sum, parameter) => sum + parameter.size, 0),
    4_722_432,
  )
})

test('the lecture’s whiteboard row (1.1, 0.8, 2.3, 4.4) has mean 2.15', () => {
  const { mean: expectedMean, var: expectedVariance, normed: expected } = cells['the whiteboard row']
  const row = gpt.tensor([1.1, 0.8, 2.3, 4.4])
  const rowMean = row.mean({ dim: -1, keepdim: true })
  const rowVariance = row.var({ dim: -1, keepdim: true, unbiased: false })
  assert.equal(rowMean.toString(), 'tensor([2.1500])')
  assert.ok(Math.abs(rowMean.item() - expectedMean) < 1e-6)
  assert.ok(Math.abs(rowVariance.item() - expectedVariance) < 1e-6)
  assertClose(row.sub(rowMean).div(rowVariance.sqrt()), expected, 1e-6)
})

test('the third notebook’s (5, 10, 3) tensor, normalized with eps 1e-6', () => {
  gpt.manualSeed(123)
  const result = new gpt.LayerNorm(3, { eps: 1e-6 }).forward(gpt.rand([5, 10, 3]))
  assertClose(result, cells['the (5,10,3) tensor'].out, 5e-6)
  assert.equal(String(result), cells['the (5,10,3) tensor'].printed)
  for (const value of result.mean({ dim: -1 }).data) assert.ok(Math.abs(value) < 1e-6)
})
