import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadForTest } from './support.js'

const gpt = await loadForTest()

test('a new Conv1D has a weight of [in, out] and a bias of zeros, or none', () => {
  const { weight, bias } = new gpt.Conv1D(6, 5)
  assert.deepEqual([weight.shape, bias?.toArray()], [[5, 6], Array(6).fill(0)])
  assert.equal(new gpt.Conv1D(3, 5, { bias: false }).bias, null)
})
