// The layers' functions with parameters of one's own: linear, layerNorm, rmsNorm, embedding, dropout,
// scaledDotProductAttention; and the layers SiLU, Sigmoid, LayerNorm without parameters.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertClose, gradientOf, loadForTest, pack, usedMemory } from './support.js'

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
  gpt.manualSeed(5)
  const dropped = new gpt.Dropout(0.3).forward(x).toArray()
  gpt.manualSeed(5)
  assert.deepEqual(gpt.dropout(x, { p: 0.3 }).toArray(), dropped)
})

test('dropout drops with probability p and scales the rest, has a gradient, and can be off', () => {
  const x = gpt.parameter(gpt.ones([2000]))
  const y = gpt.dropout(x, { p: 0.25 })
  const kept = y.data.filter((value) => value !== 0)
  assert.ok(kept.every((value) => value === Math.fround(4 / 3)))
  assert.ok(Math.abs(kept.length - 1500) < 5 * Math.sqrt(2000 * 0.25 * 0.75), `${kept.length} kept`)
  const values = [...y.data]
  y.backward(gpt.ones([2000]))
  assert.deepEqual([...gradientOf(x).data], values)
  assert.ok(
    gpt.dropout(x).data.some((value) => value === 2),
    'p is 0.5 by default',
  )
  for (const options of [{ p: 0 }, { p: 0.5, training: false }]) {
    assert.equal(gpt.dropout(x, options).byteOffset, x.byteOffset)
  }
  assert.ok(gpt.dropout(x, { p: 1 }).data.every((value) => value === 0))
})

test('attention that is causal by a mask, or by one that is 1 where a key counts, is the kernel’s', () => {
  const q = gpt.randn([2, 3, 6, 8])
  const expected = pack(gpt.scaledDotProductAttention(q, q, q, { isCausal: true }).data, q.shape)
  const seen = gpt.ones([6, 6]).tril()
  const later = gpt.full([6, 6], -Infinity).triu({ diagonal: 1 })
  for (const attnMask of [later, seen.log(), seen.log().reshape([1, 1, 6, 6])]) {
    assertClose(gpt.scaledDotProductAttention(q, q, q, { attnMask }), expected, 1e-5)
  }
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

test('NaN and infinities go through the functions as through PyTorch’s', () => {
  const rows = gpt.tensor([
    [NaN, 1],
    [Infinity, 1],
    [1, -1],
  ])
  const normed = gpt.layerNorm(rows, [2], null, null, { eps: 0 })
  assert.deepEqual(normed.toArray(), [
    [NaN, NaN],
    [NaN, NaN],
    [1, -1],
  ])
  assert.deepEqual(gpt.layerNorm(gpt.ones([1, 3]), [3], null, null, { eps: 0 }).toArray(), [[NaN, NaN, NaN]])
  assert.deepEqual(gpt.linear(rows, gpt.ones([1, 2])).toArray(), [[NaN], [Infinity], [0]])
  assert.deepEqual(gpt.embedding([0], rows).toArray(), [[NaN, 1]])
})

test('SiLU and Sigmoid are the methods as layers, and print as PyTorch’s', () => {
  const x = gpt.tensor([-Infinity, -3, -0, 0, 1, 100, NaN])
  assert.deepEqual(new gpt.SiLU().forward(x).toArray(), x.silu().toArray())
  assert.deepEqual(new gpt.Sigmoid().forward(x).toArray(), x.sigmoid().toArray())
  assert.equal(
    String(new gpt.Sequential(new gpt.SiLU(), new gpt.Sigmoid())),
    'Sequential(\n  (0): SiLU()\n  (1): Sigmoid()\n)',
  )
})

test('LayerNorm without elementwiseAffine has no parameters, and normalizes', () => {
  const norm = new gpt.LayerNorm([2, 3], { elementwiseAffine: false })
  assert.deepEqual([norm.scale, norm.shift, norm.parameters().length], [null, null, 0])
  assert.equal(String(norm), 'LayerNorm((2, 3), eps=1e-05, elementwise_affine=False)')
  const x = gpt.parameter(gpt.randn([4, 2, 3]))
  const affine = new gpt.LayerNorm([2, 3])
  const dy = gpt.randn([4, 2, 3])
  const found = [norm, affine].map((layer) => {
    const y = layer.forward(x)
    y.backward(dy)
    const values = [y.toArray(), gradientOf(x).toArray()]
    x.grad = null
    return values
  })
  assert.deepEqual(found[0], found[1])
  const before = usedMemory(gpt)
  gpt.noGrad(() => norm.forward(x)).dispose()
  assert.equal(usedMemory(gpt), before, 'without a scope nothing is left behind either')
})
