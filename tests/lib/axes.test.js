// Operations along axes, elements at indices, and draws of indices.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefuses, assertSame, golden, gradientOf, loadForTest, untyped, usedMemory } from './support.js'

const { integers, indices } = golden('draws')
const gpt = await loadForTest()

test('argmax and argmin are a number without options, otherwise a tensor', () => {
  const x = gpt.tensor([
    [4, 2, 7],
    [9, 2, 5],
  ])
  assert.deepEqual([x.argmax(), x.argmin()], [3, 1])
  assert.deepEqual(x.argmin({ keepdim: true }).toArray(), [[1]])
  assert.deepEqual(x.argmax({}).shape, [])
  assert.deepEqual(x.argmin({ dim: 0, keepdim: true }).toArray(), [[0, 0, 1]])
})

test('of equal elements topk takes the lower index first', () => {
  const x = gpt.tensor([2, 7, 7, -0, 0, 7, 2])
  assert.deepEqual(x.topk(4).indices.toArray(), [1, 2, 5, 0])
  assert.deepEqual(x.topk(3, { largest: false }).indices.toArray(), [3, 4, 0])
  assert.deepEqual(gpt.tensor([NaN, 1, NaN]).topk(3).indices.toArray(), [0, 2, 1])
})

test('gather and indexSelect take indices of every form, and add up the gradients of repeated ones', () => {
  const x = gpt.parameter(gpt.tensor([5, 6, 7]))
  const forms = [[2, 0, 2], Int32Array.of(2, 0, 2), BigInt64Array.of(2n, 0n, 2n), gpt.tensor([2, 0, 2])]
  for (const index of forms) {
    for (const y of [x.gather({ dim: 0, index }), x.indexSelect({ dim: 0, index })]) {
      assert.deepEqual(y.toArray(), [7, 5, 7])
      x.grad = null
      y.backward(gpt.tensor([1, 10, 100]))
      assert.deepEqual(gradientOf(x).toArray(), [10, 0, 101])
    }
  }
  const logits = gpt.tensor([
    [0, 9, 1],
    [5, 2, 3],
  ])
  const best = logits.argmax({ dim: 1, keepdim: true })
  assert.deepEqual(logits.gather({ dim: 1, index: best }).toArray(), [[9], [5]])
})

test('randint draws PyTorch’s integers', () => {
  for (const { seed, low, high, shape, drawn } of integers) {
    if (seed !== null) gpt.manualSeed(seed)
    assertSame(gpt.randint(low, high, shape), drawn)
  }
})

test('multinomial draws PyTorch’s indices, with and without replacement', () => {
  for (const { seed, shape, n, replacement, zeros, drawn } of indices) {
    if (seed !== null) gpt.manualSeed(seed)
    const p = gpt.rand(shape)
    const isEvenColumn = (/** @type {number} */ i) => (i % shape.at(-1)) % 2 === 0
    if (zeros && n * 2 < shape.at(-1)) p.data.set(p.data.map((value, i) => (isEvenColumn(i) ? 0 : value)))
    assertSame(gpt.multinomial(p, n, { replacement }), drawn)
  }
})

test('a split into pieces takes one gradient of the whole in backward, and nothing is left', () => {
  const [rows, pieces, cols] = [64, 12, 128]
  const size = 4 * rows * pieces * cols
  const x = gpt.parameter(gpt.randn([rows, pieces * cols]))
  const step = () => {
    const loss = gpt.scope(() =>
      x
        .split(cols, { dim: 1 })
        .reduce((sum, piece) => sum.add(piece))
        .sum(),
    )
    const before = usedMemory(gpt)
    const most = mostUsed(() => loss.backward())
    loss.dispose()
    return most - before
  }
  const grad = gpt.scope(() => {
    const rise = step()
    assert.ok(rise < 2 * size, `${rise} bytes for ${size}`)
    return gradientOf(x)
  })
  assert.ok(grad.data.every((value) => value === 1))
  const before = usedMemory(gpt)
  step()
  assert.equal(usedMemory(gpt), before)
})

/** @param {() => void} fn @returns {number} the most memory in use whenever a tensor is made */
function mostUsed(fn) {
  const Tensor = untyped(gpt.Tensor)
  const { empty } = Tensor
  let most = 0
  Tensor.empty = (/** @type {number[]} */ shape) => {
    const made = empty.call(Tensor, shape)
    most = Math.max(most, usedMemory(gpt))
    return made
  }
  try {
    fn()
  } finally {
    Tensor.empty = empty
  }
  return most
}

test('draws leave nothing behind', () => {
  const p = gpt.ones([2, 5])
  const before = usedMemory(gpt)
  for (const replacement of [false, true]) gpt.multinomial(p, 3, { replacement }).dispose()
  gpt.randint(0, 3, [4]).dispose()
  assert.equal(usedMemory(gpt), before)
})

test('indices of an axis that float32 cannot hold are refused', () => {
  gpt.scope(() => {
    const x = gpt.zeros([2 ** 24 + 1])
    const text =
      'the tensor should have at most 16777216 elements whose indices are asked for, got shape [16777217]'
    assertRefuses(() => x.max({ dim: 0 }), 'SHAPE', `max: ${text}`)
    assertRefuses(() => x.argmin({}), 'SHAPE', `argmin: ${text}`)
    assertRefuses(() => x.topk(1), 'SHAPE', `topk: ${text}`)
    x.data[2 ** 24] = 1
    assert.equal(x.argmax(), 2 ** 24)
    assert.equal(x.max().item(), 1)
  })
})
