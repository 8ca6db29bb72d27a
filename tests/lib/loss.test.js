/** @import { Loss, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertNear, assertRefuses, golden, loadForTest, nextAddress, unpack } from './support.js'

const { crossEntropy, mse, special } = golden('loss')
const gpt = await loadForTest()

/**
 * Asserts that |loss - expected| <= tolerance · max(1, |expected|). A NaN or an infinity should be equal.
 *
 * @param {Loss} loss
 * @param {number} expected
 * @param {number} tolerance
 */
function assertLoss(loss, expected, tolerance) {
  const value = loss.item()
  const off = Math.abs(value - expected) / Math.max(1, Math.abs(expected))
  assert.ok(
    Object.is(value, expected) || value === Math.fround(expected) || off <= tolerance,
    `expected ${expected}, got ${value}`,
  )
}

test('cross entropy and its gradient are PyTorch’s, at odd sizes and at 768', () => {
  for (const { seed, shape, scale, targets, loss, dx } of crossEntropy) {
    gpt.manualSeed(seed)
    const result = gpt.crossEntropy(gpt.randn(shape).mul(scale), targets)
    assertLoss(result, unpack(loss)[0], 1e-6)
    assertNear(result.backward(), dx, 2e-5, `shape [${shape}]`)
  }
})

test('cross entropy of NaN, infinities and huge logits is PyTorch’s', () => {
  for (const { x, target, loss, dx } of special) {
    const result = gpt.crossEntropy(gpt.tensor(unpack(x), x.shape), [target])
    assertLoss(result, unpack(loss)[0], 1e-6)
    const expected = unpack(dx)
    result.backward().data.forEach((/** @type {number} */ value, /** @type {number} */ i) => {
      const same = Object.is(value, expected[i]) || Math.abs(value - expected[i]) <= 1e-6
      assert.ok(same, `${unpack(x)}, ${target}: expected ${expected}, got ${value} at ${i}`)
    })
  }
})

test('targets may be nested arrays, a typed array, flat or not, or a tensor', () => {
  const logits = gpt.randn([2, 3, 7])
  const expected = gpt
    .crossEntropy(logits, [
      [1, 2, 3],
      [4, 5, -100],
    ])
    .item()
  for (const targets of [
    Int32Array.of(1, 2, 3, 4, 5, -100),
    [1, 2, 3, 4, 5, -100],
    gpt.tensor([
      [1, 2, 3],
      [4, 5, -100],
    ]),
  ]) {
    assert.equal(gpt.crossEntropy(logits, targets).item(), expected)
  }
  assert.ok(gpt.crossEntropy(gpt.randn([7]), 3).item() > 0)
})

test('cross entropy without a target that counts is NaN, as in PyTorch, and its gradient is 0', () => {
  const loss = gpt.crossEntropy(gpt.randn([2, 3]), [-100, -100])
  assert.ok(Number.isNaN(loss.item()))
  assert.deepEqual([...loss.backward().data], Array(6).fill(0))
  assert.ok(Number.isNaN(gpt.crossEntropy(gpt.zeros([0, 3]), []).item()))
})

test('the mean squared error and its gradient are PyTorch’s', () => {
  for (const { seed, shape, loss, dx } of mse) {
    gpt.manualSeed(seed)
    const prediction = gpt.randn(shape)
    const result = gpt.mse(prediction, gpt.randn(shape))
    assertLoss(result, unpack(loss)[0], 1e-6)
    assertNear(result.backward(), dx, 1e-6)
  }
  assert.ok(Number.isNaN(gpt.mse(gpt.zeros([0, 3]), gpt.zeros([0, 3])).item()))
  assert.ok(Number.isNaN(gpt.mse(gpt.zeros([3, 0]), gpt.zeros([3, 0])).item()))
})

test('the losses’ gradients agree with central differences', () => {
  const [x, target, direction] = [gpt.randn([5, 9]), gpt.randn([5, 9]), gpt.randn([5, 9])]
  const losses = [
    (/** @type {Tensor} */ x) => gpt.crossEntropy(x, [1, 8, -100, 0, 3]),
    (/** @type {Tensor} */ x) => gpt.mse(x, target),
  ]
  for (const lossOf of losses) {
    const along = (/** @type {number} */ h) => gpt.scope(() => lossOf(x.add(direction.mul(h))).item())
    const slope = (along(1e-2) - along(-1e-2)) / 2e-2
    const expected = lossOf(x)
      .backward()
      .mul(direction)
      .data.reduce((sum, value) => sum + value, 0)
    assert.ok(
      Math.abs(slope - expected) <= 1e-3 * Math.max(1, Math.abs(expected)),
      `difference quotient ${slope}, gradient ${expected}`,
    )
  }
})

test('a loss is freed by its scope, by backward or by dispose, but not when the scope returns it', () => {
  const before = nextAddress(gpt)
  /** @type {Loss[]} */
  const kept = []
  gpt.scope(() => {
    kept.push(gpt.mse(gpt.ones([3]), gpt.zeros([3])))
    gpt.crossEntropy(gpt.randn([4, 5]), [0, 1, 2, 3]).backward()
    gpt.crossEntropy(gpt.randn([4, 5]), [0, 1, 2, 3]).dispose()
  })
  assert.equal(nextAddress(gpt), before)
  const [inside] = kept
  assert.equal(inside.item(), 1)
  assertRefuses(
    () => inside.backward(),
    'VALUE',
    /^Loss.backward: the loss should be live, got one freed by backward, dispose or the end of its scope$/,
  )

  const returned = gpt.scope(() => gpt.crossEntropy(gpt.randn([4, 5]), [0, 1, 2, 3]))
  assert.notEqual(nextAddress(gpt), before)
  const dx = returned.backward()
  assert.deepEqual(dx.shape, [4, 5])
  dx.dispose()
  assert.equal(nextAddress(gpt), before)
})

test('a loss keeps the tensors that its backward needs, and backward may be called once', () => {
  const x = gpt.ones([3])
  const loss = gpt.mse(x, gpt.zeros([3]))
  x.dispose()
  assert.deepEqual(loss.backward().toArray(), Array(3).fill(Math.fround(2 / 3)))
  assertRefuses(() => loss.backward(), 'VALUE', /got one freed by backward/)
  const other = gpt.mse(gpt.ones([3]), gpt.zeros([3]))
  other.dispose()
  other.dispose()
  assertRefuses(() => other.backward(), 'VALUE', /got one freed by backward, dispose/)
})

test('cross entropy over GPT-2’s vocabulary works, on any number of threads', () => {
  gpt.scope(() => {
    const loss = gpt.crossEntropy(
      gpt.zeros([16, 50257]),
      Array.from({ length: 16 }, (_, i) => 3000 * i),
    )
    assert.ok(Math.abs(loss.item() - Math.log(50257)) <= 1e-5)
    const { data } = loss.backward()
    const sum = data.reduce((sum, value) => sum + value, 0)
    assert.ok(Math.abs(sum) <= 1e-6, `the sum of all logits’ gradients should be 0, got ${sum}`)
  })
})
