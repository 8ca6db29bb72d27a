// The layers' functions with parameters of one's own: linear, layerNorm, rmsNorm, embedding, dropout,
// scaledDotProductAttention.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadForTest } from './support.js'

const gpt = await loadForTest()

test('a function gives the bits of its layer', () => {
  const x = gpt.randn([3, 4])
  const linear = new gpt.Linear(4, 5)
  const { weight, bias } = linear
  assert.deepEqual(gpt.linear(x, weight, bias).toArray(), linear.forward(x).toArray())
  const norm = new gpt.LayerNorm(4, { eps: 0.5 })
  const { scale, shift } = norm
  assert.deepEqual(gpt.layerNorm(x, 4, scale, shift, { eps: 0.5 }).toArray(), norm.forward(x).toArray())
  assert.deepEqual(gpt.rmsNorm(x, [4]).toArray(), new gpt.RMSNorm(4).forward(x).toArray())
  const table = new gpt.Embedding(7, 2)
  assert.deepEqual(gpt.embedding([[6, 0]], table.weight).toArray(), table.forward([[6, 0]]).toArray())
  const masked = (/** @type {() => Tensor} */ drop) => (gpt.manualSeed(5), drop().toArray())
  const [byDefault, few] = [masked(() => gpt.dropout(x)), masked(() => gpt.dropout(x, { p: 0.3 }))]
  assert.deepEqual(
    byDefault,
    masked(() => new gpt.Dropout(0.5).forward(x)),
  )
  assert.deepEqual(
    few,
    masked(() => new gpt.Dropout(0.3).forward(x)),
  )
})

test('causal attention does not see what comes later, not even NaN; a query that sees no key gives NaN', () => {
  const v = gpt.randn([4, 3])
  v.data.fill(NaN, 9)
  const causal = gpt.scaledDotProductAttention(v, v, v, { isCausal: true })
  assert.deepEqual(
    [...causal.data].map(Number.isNaN),
    Array.from({ length: 12 }, (_, i) => i >= 9),
  )
  const x = gpt.randn([2, 3])
  const attnMask = gpt.tensor([
    [-Infinity, -Infinity],
    [0, -Infinity],
  ])
  const y = gpt.scaledDotProductAttention(x, x, x, { attnMask })
  assert.deepEqual(y.at(0).toArray(), [NaN, NaN, NaN])
  assert.deepEqual(y.at(1).toArray(), x.at(0).toArray())
})

test('attention drops weights, in both ways of computing it', () => {
  const [tokens, size] = [64, 4]
  const zeros = gpt.zeros([2, tokens, size])
  const v = gpt.ones([2, tokens, size])
  for (const isCausal of [true, false]) {
    gpt.manualSeed(3)
    const y = gpt.scaledDotProductAttention(zeros, zeros, v, { isCausal, dropout: 0.5 })
    const mean = y.mean().item()
    assert.ok(Math.abs(mean - 1) < 0.15, `mean ${mean}`)
    assert.ok(new Set(y.data).size > 8)
    gpt.manualSeed(3)
    const again = gpt.scaledDotProductAttention(zeros, zeros, v, { isCausal, dropout: 0.5 })
    assert.deepEqual(again.toArray(), y.toArray())
    const none = gpt.scaledDotProductAttention(zeros, zeros, v, { isCausal, dropout: 1 })
    assert.ok(none.data.every((value) => value === 0))
  }
})
