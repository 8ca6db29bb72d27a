// The notebook's cells print what PyTorch prints, on every build: rounding errors, too. tests/notebook runs the
// notebooks themselves.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GPT_CONFIG_124M } from 'gpt-layers'
import { assertSame, golden, loadForTest } from './support.js'

const cells = golden('notebook')
const gpt = await loadForTest()

/** @param {string} cell @param {Record<string, unknown>} texts */
const prints = (cell, texts) => assert.deepEqual(texts, cells[cell].printed)

test('the notebook’s cells draw PyTorch’s bits and print its characters', () => {
  gpt.manualSeed(123)
  const batch = gpt.randn([2, 5])
  const layer = new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU())
  const drawn = cells['cell 2']
  assertSame(batch, drawn.batch)
  assertSame(layer.stateDict()['0.weight'], drawn.weight)
  assertSame(layer.stateDict()['0.bias'], drawn.bias)
  const out = layer.forward(batch)
  assert.equal(String(out), drawn.printed)

  const rows = { dim: -1, keepdim: true }
  const [mean, variance] = [out.mean(rows), out.var(rows)]
  prints('cell 3', { mean: String(mean), var: String(variance) })
  const normed = out.sub(mean).div(variance.sqrt())
  const normedMean = normed.mean(rows)
  assert.match(String(normedMean), /9\.9341e-09/, 'PyTorch’s own rounding error')
  prints('cell 4', { normed: String(normed), mean: String(normedMean), var: String(normed.var(rows)) })
  const [scientific, plain] = [true, false].map((sciMode) => normedMean.toString({ sciMode }))
  prints('cell 5', { scientific, plain })

  const norm = new gpt.LayerNorm(5).forward(batch)
  const biased = { ...rows, unbiased: false }
  const byHand = batch.sub(batch.mean(rows)).div(batch.var(biased).add(1e-5).sqrt())
  const means = byHand.mean(rows).toString({ sciMode: false }) // with the sign of zero
  prints('cell 7', { out: String(norm), mean: means, var: String(norm.var(biased)) })

  const feedForward = new gpt.FeedForward(GPT_CONFIG_124M)
  const result = feedForward.forward(gpt.rand([2, 3, 768]))
  assert.equal(String(result), cells['cell 16'].printed)
  assert.equal(
    feedForward.parameters().reduce((sum, { size }) => sum + size, 0),
    4_722_432,
  )
})
