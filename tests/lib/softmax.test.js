import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertClose,
  assertGradients,
  assertRefuses,
  backwardThrough,
  golden,
  loadForTest,
  unpack,
  untyped,
} from './support.js'

const { cases, axes, special } = golden('softmax')
const gpt = await loadForTest()

test('softmax and its gradient are PyTorch’s at odd sizes and at 768', () => {
  for (const { seed, shape, scale, ...expected } of cases) {
    gpt.manualSeed(seed)
    const x = gpt.randn(shape).mul(scale)
    assertGradients(new gpt.Softmax(), x, gpt.randn(shape), expected, { forward: 1e-6, backward: 2e-5 })
  }
})

test('softmax over any axis and its gradient are PyTorch’s', () => {
  for (const { seed, shape, dim, ...expected } of axes) {
    gpt.manualSeed(seed)
    const x = gpt.randn(shape)
    const layer = new gpt.Softmax({ dim })
    assertGradients(layer, x, gpt.randn(shape), expected, { forward: 1e-6, backward: 2e-5 })
    assert.equal(String(layer), `Softmax(dim=${dim})`)
  }
})

test('softmax names an axis that is none, and one that x does not have', () => {
  const make = (/** @type {unknown} */ dim) => () => new gpt.Softmax(untyped({ dim }))
  assertRefuses(make('0'), 'TYPE', /^Softmax: dim should be an integer, got "0"$/)
  assertRefuses(make(0.5), 'VALUE', /^Softmax: dim should be an integer, got 0\.5$/)
  const rows = gpt.ones([2, 3])
  for (const dim of [2, -3]) {
    const call = () => new gpt.Softmax({ dim }).forward(rows)
    assertRefuses(
      call,
      'VALUE',
      new RegExp(`^Softmax.forward: dim should be an axis from -2 to 1, got ${dim}$`),
    )
  }
})

test('softmax of NaN, infinities and huge values is PyTorch’s', () => {
  for (const { x, out } of special)
    assertClose(new gpt.Softmax().forward(gpt.tensor(unpack(x), x.shape)), out, 1e-6)
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
  for (const [dim, ...shape] of [
    [-1, 0, 3],
    [-1, 3, 0],
    [0, 0, 3],
    [0, 3, 0],
    [1, 2, 0, 3],
  ]) {
    const layer = new gpt.Softmax({ dim })
    assert.deepEqual(backwardThrough(layer, gpt.zeros(shape), gpt.zeros(shape)).shape, shape)
  }
})
