// Operations along axes, elements at indices, and draws of indices.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertClose,
  assertNear,
  assertRefuses,
  assertSame,
  golden,
  gradientOf,
  loadForTest,
  unpack,
  untyped,
  usedMemory,
} from './support.js'

const { calls, special, integers, indices } = golden('axes')
const gpt = await loadForTest()

/** @typedef {{ values: Tensor, indices: Tensor }} Extremes */

/** @type {Record<string, (x: Tensor, options: any) => Tensor | Extremes>} by the names of the golden cases */
const CALLS = {
  sum: (x, options) => x.sum(options),
  mean: (x, options) => x.mean(options),
  var: (x, options) => x.var(options),
  std: (x, options) => x.std(options),
  cumsum: (x, options) => x.cumsum(options),
  max: (x, options) => x.max(options),
  min: (x, options) => x.min(options),
  topk: (x, { k, ...options }) => x.topk(k, options),
  gather: (x, options) => x.gather(options),
  indexSelect: (x, options) => x.indexSelect(options),
}

for (const operation of Object.keys(CALLS)) {
  test(`${operation} and its gradient are PyTorch’s`, () => {
    const cases = calls.filter((/** @type {any} */ one) => one.operation === operation)
    assert.ok(cases.length > 0)
    for (const { shapes, options, out, grads, indices: places, wide } of cases) {
      gpt.manualSeed(1)
      const x = gpt.parameter(gpt.randn(shapes[0]))
      const found = CALLS[operation](x, options)
      const y = found instanceof gpt.Tensor ? found : found.values
      if (wide) assertClose(y, out, 1e-6)
      else assertSame(y, out)
      if (!(found instanceof gpt.Tensor)) {
        assertSame(found.indices, places)
        assert.equal(found.indices.requiresGrad, false)
        const argument = { max: 'argmax', min: 'argmin' }[operation]
        if (argument !== undefined) assertSame(untyped(x)[argument](options), places)
      }
      y.backward(gpt.randn(y.shape))
      assertNear(gradientOf(x), grads[0], 1e-6, `gradient for ${JSON.stringify(options)}`)
    }
  })
}

test('zeros, ties, NaN and infinities give PyTorch’s results and gradients', () => {
  const rows = () => gpt.parameter(gpt.tensor(unpack(special.x), special.x.shape))
  for (const name of ['cumsum', 'std', 'max', 'min']) {
    const x = rows()
    const found = CALLS[name](x, { dim: 1 })
    const y = found instanceof gpt.Tensor ? found : found.values
    y.backward(gpt.ones(y.shape))
    try {
      assertClose(y, special[name].out, 1e-6)
      assertClose(gradientOf(x), special[name].grad, 1e-6)
    } catch (error) {
      throw new Error(name, { cause: error })
    }
  }
  const x = rows()
  assert.deepEqual(x.argmax({ dim: 1 }).toArray(), special.argmax)
  assert.deepEqual(x.argmin({ dim: 1 }).toArray(), special.argmin)
  assertClose(x.topk(3).values, special.largest, 0)
  assertClose(x.topk(3, { largest: false }).values, special.smallest, 0)
  for (const { name, x, out, grad } of special.all) {
    const row = gpt.parameter(gpt.tensor(unpack(x)))
    const y = CALLS[name](row, undefined)
    assert.ok(y instanceof gpt.Tensor)
    y.backward()
    assertClose(y, out, 1e-6)
    assertClose(gradientOf(row), grad, 1e-6)
  }
})

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

test('nothing of these operations is left, with or without a gradient', () => {
  const x = gpt.parameter(gpt.randn([3, 4, 5]))
  x.sum().backward()
  gpt.scope(() => {})
  for (const [name, options] of /** @type {[string, any][]} */ ([
    ['sum', { dim: [0, 2] }],
    ['mean', { dim: [0, 2] }],
    ['var', { dim: [0, 2] }],
    ['std', { dim: [0, 2], keepdim: true }],
    ['cumsum', { dim: 1 }],
    ['max', { dim: 1 }],
    ['min', { dim: 0 }],
    ['min', undefined],
    ['topk', { k: 2, dim: 1 }],
    ['gather', { dim: 0, index: [[[1, 2]]] }],
    ['indexSelect', { dim: 1, index: [1, 1] }],
  ])) {
    const before = usedMemory(gpt)
    const dispose = (/** @type {Tensor | Extremes} */ found) => {
      if (found instanceof gpt.Tensor) return found.dispose()
      found.values.dispose()
      found.indices.dispose()
    }
    dispose(gpt.noGrad(() => CALLS[name](x, options)))
    assert.equal(usedMemory(gpt), before, name)
    const found = CALLS[name](x, options)
    const y = found instanceof gpt.Tensor ? found : found.values
    const loss = y.sum()
    loss.backward()
    loss.dispose()
    dispose(found)
    assert.equal(usedMemory(gpt), before, `${name} and its gradient`)
  }
  const p = gpt.ones([2, 5])
  const before = usedMemory(gpt)
  for (const replacement of [false, true]) gpt.multinomial(p, 3, { replacement }).dispose()
  gpt.randint(0, 3, [4]).dispose()
  x.argmin()
  assert.equal(usedMemory(gpt), before)
})

test('indices of an axis that float32 cannot hold are refused', () => {
  gpt.scope(() => {
    const x = gpt.zeros([2 ** 24 + 1])
    const text = /the tensor should have at most 16777216 elements whose indices are asked for/
    for (const call of [() => x.max({ dim: 0 }), () => x.argmin({}), () => x.topk(1)]) {
      assertRefuses(call, 'SHAPE', text)
    }
    x.data[2 ** 24] = 1
    assert.equal(x.argmax(), 2 ** 24)
    assert.equal(x.max().item(), 1)
  })
})
