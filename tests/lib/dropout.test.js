import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backwardThrough, loadForTest } from './support.js'

const gpt = await loadForTest()

test('dropout zeroes a share p of the elements and scales the rest by 1 / (1 - p)', () => {
  for (const p of [0.1, 0.5, 0.8]) {
    const n = 100_000
    const y = new gpt.Dropout(p).forward(gpt.ones([10, n / 10]))
    const kept = y.data.filter((value) => value !== 0)
    assert.ok(
      kept.every((value) => value === Math.fround(1 / (1 - Math.fround(p)))),
      `p ${p}`,
    )
    // five standard deviations of a binomial count
    const off = Math.abs(kept.length - n * (1 - p))
    assert.ok(off <= 5 * Math.sqrt(n * p * (1 - p)), `p ${p}: ${kept.length} of ${n} kept`)
  }
})

test('manualSeed makes the masks reproducible, and each call draws another mask', () => {
  const layer = new gpt.Dropout(0.5)
  const x = gpt.ones([100])
  gpt.manualSeed(7)
  const first = layer.forward(x).toArray()
  const second = layer.forward(x).toArray()
  assert.notDeepEqual(second, first)
  gpt.manualSeed(7)
  assert.deepEqual(layer.forward(x).toArray(), first)
  assert.deepEqual(layer.forward(x).toArray(), second)
})

test('a mask is the same on every build and any number of threads', () => {
  gpt.manualSeed(7)
  const { data } = new gpt.Dropout(0.5).forward(gpt.ones([100_003]))
  // The reference in C gives these for the first number that MT19937 draws.
  assert.equal(data.slice(0, 24).map(Math.sign).join(''), '010110110011011010110101')
  assert.equal(
    data.reduce((sum, value, i) => sum + (value && i), 0),
    2493332362,
  )
})

test('after eval() or with p = 0 dropout is the identity and draws no numbers', () => {
  const x = gpt.randn([3, 5])
  for (const layer of [new gpt.Dropout(0.5).eval(), new gpt.Dropout(0)]) {
    gpt.manualSeed(3)
    const y = layer.forward(x)
    assert.deepEqual(y.toArray(), x.toArray())
    const next = gpt.rand([1]).item()
    gpt.manualSeed(3)
    assert.equal(gpt.rand([1]).item(), next)
    // y shares x's memory, which outlives x.
    x.data[0] = 42
    assert.equal(y.data[0], 42)
    const copy = gpt.scope(() => layer.forward(gpt.tensor([1, 2])))
    assert.deepEqual(copy.toArray(), [1, 2])
  }
  const dy = gpt.randn([3, 5])
  assert.deepEqual(backwardThrough(new gpt.Dropout(0), x, dy).toArray(), dy.toArray())
})
