import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertClose, loadForTest, pack } from './support.js'

const gpt = await loadForTest()

test('layer norm of a constant row is the shift, not NaN', () => {
  const norm = new gpt.LayerNorm(7)
  norm.shift?.data.set([1, -2, 3, 0, 5, 0.5, 7])
  assert.deepEqual(new gpt.LayerNorm(1).forward(gpt.tensor([[3], [-1e30]])).toArray(), [[0], [0]])
  for (const value of [0, 0.1, -7, 1e-30, 1e4, 1e30, 3e38]) {
    assert.deepEqual(
      [...norm.forward(gpt.tensor(Array(7).fill(value))).data],
      [...(norm.shift?.data ?? [])],
      `rows of ${value}`,
    )
  }
})

test('layer norm of rows on which others gave NaN or too coarse values is right', () => {
  /** @param {number[]} row @param {number[]} expected */
  const assertRow = (row, expected) => {
    const y = new gpt.LayerNorm(row.length, { bias: false }).forward(gpt.tensor(row))
    assertClose(y, pack(Float32Array.from(expected), [row.length]), 5e-6)
  }
  // microsoft/onnxruntime#28463
  assertRow([40000, 40001, 40002, 40003], [-1.3416354, -0.4472118, 0.4472118, 1.3416354])
  // microsoft/onnxruntime#21935
  assertRow(Array(256).fill(1234), Array(256).fill(0))
  // tracel-ai/burn#5607; the values of PyTorch in float64, of these numbers in float32
  const half = [0.08875556, 0.26626667, 0.44377778, 0.6212889, 0.79880001, 0.97631112, 1.15382224, 1.33133335]
  assertRow(
    Array.from({ length: 16 }, (_, i) => 1e4 + i * 1e-3),
    [...half.map((value) => -value).reverse(), ...half],
  )
})

test('a new LayerNorm has scale 1, shift 0 and eps 1e-5, and adds eps to the variance', () => {
  const norm = new gpt.LayerNorm(3)
  assert.deepEqual([...(norm.scale?.data ?? [])], [1, 1, 1])
  assert.deepEqual([...(norm.shift?.data ?? [])], [0, 0, 0])
  assert.equal(norm.eps, 1e-5)
  const wide = new gpt.LayerNorm(2, { eps: 3 }).forward(gpt.tensor([-1, 1]))
  assert.deepEqual([...wide.data], [-0.5, 0.5])
})

test('layer norm over several axes tells its shape, and an array of one size is that size', () => {
  const norm = new gpt.LayerNorm([2, 3])
  assert.equal(String(norm), 'LayerNorm((2, 3), eps=1e-05)')
  assert.equal(norm.embDim, 6)
  assert.deepEqual(norm.normalizedShape, [2, 3])
  assert.equal(String(new gpt.LayerNorm([5])), String(new gpt.LayerNorm(5)))
  assert.equal(String(new gpt.LayerNorm(5, { eps: 1e-4 })), 'LayerNorm(5, eps=0.0001)')
  const bare = new gpt.LayerNorm([2, 3], { elementwiseAffine: false })
  assert.deepEqual([bare.scale, bare.shift], [null, null])
  assert.equal(String(bare), 'LayerNorm((2, 3), eps=1e-05, elementwise_affine=False)')
})
