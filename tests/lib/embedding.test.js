import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gradientOf, loadForTest, rowsOf } from './support.js'

const gpt = await loadForTest()

test('indices may be a number, nested arrays, a typed array or a tensor', () => {
  const layer = new gpt.Embedding(10, 3)
  const rows = rowsOf(layer.weight)
  assert.deepEqual(layer.forward(7).toArray(), rows[7])
  assert.deepEqual(
    layer
      .forward([
        [1, 2],
        [3, 9],
      ])
      .toArray(),
    [
      [rows[1], rows[2]],
      [rows[3], rows[9]],
    ],
  )
  for (const indices of [Int32Array.of(4, 0), Uint8Array.of(4, 0), gpt.tensor([4, 0]), [4, -0]]) {
    assert.deepEqual(layer.forward(indices).toArray(), [rows[4], rows[0]])
  }
  assert.deepEqual(layer.forward(gpt.tensor([[4], [0]])).shape, [2, 1, 3])
  assert.deepEqual(layer.forward([]).shape, [0, 3])
})

test('indices may be 64-bit integers, as other packages give token ids', () => {
  const layer = new gpt.Embedding(5, 2)
  for (const ids of [BigInt64Array.of(1n, 4n), BigUint64Array.of(1n, 4n)])
    assert.deepEqual(layer.forward(ids).toArray(), layer.forward([1, 4]).toArray())
})

test('a vocabulary of GPT-2’s size works, on any number of threads', () => {
  const layer = new gpt.Embedding(50257, 64)
  const tokens = Int32Array.from({ length: 1000 }, (_, i) => (i * i * 7919) % 50257)
  const y = layer.forward(tokens)
  tokens.forEach((token, i) => {
    assert.deepEqual(y.data.slice(64 * i, 64 * i + 64), layer.weight.data.slice(64 * token, 64 * token + 64))
  })
  y.sum().backward()
  const counts = new Float32Array(50257)
  for (const token of tokens) counts[token]++
  const { data } = gradientOf(layer.weight)
  counts.forEach((count, token) => assert.equal(data[64 * token + (token % 64)], count))
  layer.dispose()
})
