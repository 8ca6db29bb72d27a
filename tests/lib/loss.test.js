/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertClose,
  assertNear,
  assertRefuses,
  golden,
  gradientOf,
  loadForTest,
  nextAddress,
  unpack,
} from './support.js'

const { crossEntropy, mse, special, smoothed, options } = golden('loss')
const gpt = await loadForTest()

/**
 * Asserts that |loss - expected| <= tolerance · max(1, |expected|). A NaN or an infinity should be equal.
 *
 * @param {Tensor} loss
 * @param {number} expected
 * @param {number} tolerance
 */
function assertLoss(loss, expected, tolerance) {
  const value = loss.item()
  const off = Math.abs(value - expected) / Math.max(1, Math.abs(expected))
  assert.ok(Object.is(value, expected) || off <= tolerance, `expected ${expected}, got ${value}`)
}

test('cross entropy and its gradient are PyTorch’s, at odd sizes and at 768', () => {
  for (const { seed, shape, scale, targets, loss, dx } of crossEntropy) {
    gpt.manualSeed(seed)
    const logits = gpt.parameter(gpt.randn(shape).mul(scale))
    const result = gpt.crossEntropy(logits, targets)
    assert.deepEqual(result.shape, [])
    assertLoss(result, unpack(loss)[0], 1e-6)
    result.backward()
    assertNear(gradientOf(logits), dx, 2e-5, `shape [${shape}]`)
  }
})

for (const { reduction } of [{ reduction: 'none' }, { reduction: 'mean' }, { reduction: 'sum' }]) {
  test(`cross entropy with reduction ${reduction}, label smoothing and another ignoreIndex is PyTorch’s`, () => {
    for (const { seed, shape, targets, options: given, loss, dx } of options.crossEntropy) {
      if (given.reduction !== reduction) continue
      gpt.manualSeed(seed)
      const logits = gpt.parameter(gpt.randn(shape).mul(3))
      gpt.rand(shape.slice(0, 1)) // PyTorch made the targets of this draw
      const result = gpt.crossEntropy(logits, targets, given)
      assertClose(result, loss, 1e-6)
      result.backward(gpt.randn(result.shape))
      assertNear(gradientOf(logits), dx, 2e-5, JSON.stringify({ shape, ...given }))
    }
  })
}

test('the losses of reduction none have the targets’ shape', () => {
  const logits = gpt.randn([2, 3, 7])
  const targets = [
    [1, 2, 3],
    [4, -100, 6],
  ]
  const losses = gpt.crossEntropy(logits, targets, { reduction: 'none' })
  assert.deepEqual(losses.shape, [2, 3])
  assert.equal(losses.data[4], 0)
  const flat = gpt.crossEntropy(logits, targets.flat(), { reduction: 'none' })
  assert.deepEqual(flat.toArray(), [...losses.data])
  assert.deepEqual(gpt.crossEntropy(gpt.randn([7]), 3, { reduction: 'none' }).shape, [])
})

test('cross entropy of NaN, infinities and huge logits is PyTorch’s, also with label smoothing', () => {
  const plain = special.map((/** @type {object} */ golden) => ({ ...golden, given: {} }))
  const smooth = smoothed.map((/** @type {object} */ golden) => ({
    ...golden,
    given: { labelSmoothing: 0.1 },
  }))
  for (const { x, target, loss, dx, given } of [...plain, ...smooth]) {
    const logits = gpt.parameter(gpt.tensor(unpack(x), x.shape))
    const result = gpt.crossEntropy(logits, [target], given)
    assertLoss(result, unpack(loss)[0], 1e-6)
    result.backward()
    const expected = unpack(dx)
    gradientOf(logits).data.forEach((value, i) => {
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
  const logits = gpt.parameter(gpt.randn([2, 3]))
  const loss = gpt.crossEntropy(logits, [-100, -100])
  assert.ok(Number.isNaN(loss.item()))
  loss.backward()
  assert.deepEqual([...gradientOf(logits).data], Array(6).fill(0))
  assert.ok(Number.isNaN(gpt.crossEntropy(gpt.zeros([0, 3]), []).item()))
})

test('the mean squared error and its gradient are PyTorch’s, with every reduction', () => {
  for (const { seed, shape, loss, dx } of mse) {
    gpt.manualSeed(seed)
    const [prediction, target] = [gpt.parameter(gpt.randn(shape)), gpt.parameter(gpt.randn(shape))]
    const result = gpt.mse(prediction, target)
    assert.deepEqual(result.shape, [])
    assertLoss(result, unpack(loss)[0], 1e-6)
    result.backward()
    assertNear(gradientOf(prediction), dx, 1e-6)
    assertNear(gradientOf(target).neg(), dx, 1e-6)
  }
  for (const { seed, shape, reduction, loss, dx } of options.mse) {
    gpt.manualSeed(seed)
    const [prediction, target] = [gpt.parameter(gpt.randn(shape)), gpt.parameter(gpt.randn(shape))]
    const result = gpt.mse(prediction, target, { reduction })
    assertClose(result, loss, 1e-6)
    result.backward(gpt.randn(result.shape))
    assertNear(gradientOf(prediction), dx, 1e-6)
    assertNear(gradientOf(target).neg(), dx, 1e-6)
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
    const leaf = gpt.parameter(x.clone())
    lossOf(leaf).backward()
    const expected = gradientOf(leaf).mul(direction).sum().item()
    assert.ok(
      Math.abs(slope - expected) <= 1e-3 * Math.max(1, Math.abs(expected)),
      `difference quotient ${slope}, gradient ${expected}`,
    )
  }
})

test('a loss is freed by its scope, unless the scope returns it: then backward frees what it needed', () => {
  const x = gpt.parameter(gpt.randn([4, 5]))
  const before = nextAddress(gpt)
  const lossOf = () => gpt.crossEntropy(x.mul(2), [0, 1, 2, 3])
  gpt.scope(() => void lossOf())
  assert.equal(nextAddress(gpt), before)

  const returned = gpt.scope(lossOf)
  assert.notEqual(nextAddress(gpt), before)
  returned.backward()
  assert.deepEqual(gradientOf(x).shape, [4, 5])
  assertRefuses(() => returned.backward(), 'VALUE', /^backward: should be called once/)
  returned.dispose()
  gradientOf(x).dispose()
  assert.equal(nextAddress(gpt), before)
})

test('the backward of a disposed loss, or through a disposed prediction, is refused', () => {
  const x = gpt.parameter(gpt.ones([3]))
  const gone = gpt.mse(x, gpt.zeros([3]))
  gone.dispose()
  gone.dispose()
  assertRefuses(() => gone.backward(), 'DISPOSED', /^backward: the tensor should be live/)
  const loss = gpt.mse(x, gpt.zeros([3]))
  x.dispose()
  assertRefuses(() => loss.backward(), 'DISPOSED', /^backward: a tensor of shape \[3\] should be live/)
})

test('cross entropy over GPT-2’s vocabulary works, on any number of threads', () => {
  gpt.scope(() => {
    const logits = gpt.parameter(gpt.zeros([16, 50257]))
    const loss = gpt.crossEntropy(
      logits,
      Array.from({ length: 16 }, (_, i) => 3000 * i),
    )
    assert.ok(Math.abs(loss.item() - Math.log(50257)) <= 1e-5)
    loss.backward()
    const { data } = gradientOf(logits)
    const sum = data.reduce((sum, value) => sum + value, 0)
    assert.ok(Math.abs(sum) <= 1e-6, `the sum of all logits’ gradients should be 0, got ${sum}`)
  })
})
