// The gradients of everything in tests/layers.js beside central differences, and `backward({ retainGraph })`.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gradcheck } from '../gradcheck.js'
import { LAYERS, LOSSES, TENSOR_OPERATIONS } from '../layers.js'
import { assertRefuses, gradientOf, loadForTest, redraw, usedMemory } from './support.js'

const gpt = await loadForTest()

const FREED =
  'backward: should be called once; an earlier backward has freed the graph. Run the forward again'

/** Twelve numbers from 0.63 to 1.73, in steps of 0.1: no two are near each other, or near 1. */
const spread = (/** @type {number} */ factor, first = 0.63) =>
  Array.from({ length: 12 }, (_, i) => first + 0.1 * ((i * factor) % 12))

/** @returns {[Tensor, Tensor, Tensor]} positive parameters x and y, [3, 4], and z, [4, 3] */
const operands = () => [
  gpt.parameter(gpt.tensor(spread(5), [3, 4])),
  gpt.parameter(gpt.tensor(spread(7, 0.68), [3, 4])),
  gpt.parameter(gpt.tensor(spread(11), [4, 3])),
]

/**
 * A layer whose parameters are drawn again, so that each matters, and its input, both away from kinks.
 *
 * @param {string} name
 * @param {(x: Tensor) => Tensor} [change] of the input
 * @returns {{ run: () => Tensor, inputs: Tensor[] }}
 */
function layerOf(name, change = (x) => x) {
  gpt.manualSeed(3)
  const [layer, input] = LAYERS[name](gpt, { rows: 3, cols: 4, heads: 2 })
  for (const parameter of layer.parameters()) redraw(gpt, parameter)
  const inputs = Array.isArray(input) ? [] : [gpt.parameter(change(input))]
  const run = () => {
    gpt.manualSeed(7) // the same masks of Dropout
    return layer.forward(inputs[0]?.mul(1) ?? input) // a computed one, which a scope frees
  }
  return { run, inputs: [...inputs, ...layer.parameters()] }
}

for (const [name, operation] of Object.entries(TENSOR_OPERATIONS)) {
  test(`the gradients of ${name} are the slopes`, () => {
    const inputs = operands()
    const used = inputs.slice(0, operation.length > 2 ? 3 : operation.length)
    const run = () => {
      gpt.manualSeed(7) // the same mask of dropout
      const [x, y, z] = inputs.map((input) => input.mul(1))
      return operation(x, y, z, gpt)
    }
    gradcheck(gpt, run, used)
  })
}

for (const name of Object.keys(LAYERS)) {
  test(`the gradients of ${name} are the slopes`, () => {
    const { run, inputs } = layerOf(name)
    gradcheck(gpt, run, inputs)
  })

  test(`the gradients of ${name} are the slopes with one more leading axis`, () => {
    const { run, inputs } = layerOf(name, (x) => gpt.stack([x, x.neg()]))
    gradcheck(gpt, run, inputs)
  })
}

for (const name of ['Linear', 'Conv1D', 'LayerNorm', 'RMSNorm', 'Softmax', 'FeedForward']) {
  test(`the gradients of ${name} are the slopes for a vector`, () => {
    const { run, inputs } = layerOf(name, (x) => x.at(0))
    gradcheck(gpt, run, inputs)
  })
}

/** Of two matrices [3, 4], which may be the same: another one. @type {((a: Tensor, b: Tensor) => Tensor)[]} */
const STEPS = [
  (a, b) => a.add(b),
  (a, b) => a.sub(b.at(0)),
  (a, b) => a.mul(b).tanh(),
  (a, b) => a.div(b.mul(b).add(1)),
  (a, b) => a.mul(b.mean({ dim: 1, keepdim: true })),
  (a, b) => a.matmul(b.transpose(0, 1)).matmul(a).mul(0.1),
  (a) => gpt.layerNorm(a, [4]),
  (a) => a.softmax({ dim: 0 }),
  (a) => a.reshape([4, 3]).permute([1, 0]),
  (a) => gpt.cat(a.split(2, { dim: 1 }).reverse(), { dim: 1 }),
  (a, b) => gpt.where(gpt.tensor([1, 0, 0, 1]), a, b),
]

test('the gradients of random graphs are the slopes, where values are used again, too', () => {
  let random = 1
  const draw = (/** @type {number} */ n) => (random = (random * 48271) % 0x7fffffff) % n
  for (let graph = 0; graph < 40; graph++) {
    const inputs = operands().slice(0, 2)
    const constant = gpt.tensor(spread(11), [3, 4])
    const steps = Array.from({ length: 8 }, (_, i) => [draw(STEPS.length), draw(3 + i), draw(3 + i)])
    const run = () => {
      const values = [...inputs, constant]
      for (const [step, a, b] of steps) values.push(STEPS[step](values[a], values[b]))
      return values.reduce((sum, value) => sum.add(value)).mean()
    }
    gradcheck(gpt, run, inputs)
  }
})

for (const [name, loss] of Object.entries(LOSSES)) {
  test(`the gradients of ${name} are the slopes`, () => {
    const x = gpt.parameter(gpt.randn([3, 4]))
    gradcheck(gpt, () => loss(gpt, x.mul(1)), [x])
  })
}

test('gradcheck of the tests finds a wrong gradient in one element, a missing one, and NaN', () => {
  const x = gpt.parameter(gpt.tensor([[1, 1, 2]]))
  /** y = x³, with a gradient of our choice. @param {Tensor} slopes */
  const cube = (slopes) => () => gpt.record(x.detach().pow(3), [x], (dy) => [dy.mul(slopes)])
  gradcheck(gpt, cube(gpt.tensor([[3, 3, 12]])), [x])
  const wrong = /dy\[2\] by input 0\[2\] should be 1[12](\.\d+)? \(numerical\), got 11$/
  assert.throws(() => gradcheck(gpt, cube(gpt.tensor([[3, 3, 11]])), [x]), wrong)
  assert.throws(() => gradcheck(gpt, () => x.detach().mul(2), [x]), /should be 2.* got 0$/)
  assert.throws(() => gradcheck(gpt, () => x.div(0).mul(0).sum(), [x]), /should be NaN/)
})

test('a graph that is retained can be gone through again, and its gradients are added', () => {
  const w = gpt.parameter(gpt.tensor([1, 2]))
  const y = w.mul(w)
  const loss = y.sum()
  loss.backward({ retainGraph: true })
  assert.deepEqual(gradientOf(w).toArray(), [2, 4])
  loss.backward({ retainGraph: true })
  assert.deepEqual(gradientOf(w).toArray(), [4, 8])
  y.backward(gpt.tensor([1, 0]), { retainGraph: true })
  assert.deepEqual(gradientOf(w).toArray(), [6, 8])
  loss.backward(undefined, { retainGraph: false })
  assert.deepEqual(gradientOf(w).toArray(), [8, 12])
  for (const freed of [loss, y]) assertRefuses(() => freed.backward(gpt.ones(freed.shape)), 'VALUE', FREED)
})

test('two losses share a part of the graph, where the first backward retains it', () => {
  const w = gpt.parameter(gpt.tensor([3]))
  const shared = w.mul(w)
  const [first, second] = [shared.mul(2).sum(), shared.exp().sum()]
  first.backward({ retainGraph: true })
  assert.deepEqual(gradientOf(w).toArray(), [12])
  w.grad = null
  second.backward()
  assert.ok(Math.abs(gradientOf(w).item() - 6 * Math.exp(9)) <= 1e-5 * 6 * Math.exp(9))
  assertRefuses(() => first.backward(), 'VALUE', FREED)
})

for (const name of Object.keys(LAYERS)) {
  test(`two backwards through ${name} give the same gradients, and leave no memory`, () => {
    const { run, inputs } = layerOf(name)
    if (inputs.length === 0) return
    const twice = () => {
      const y = run()
      const dy = gpt.ones(y.shape)
      y.backward(dy, { retainGraph: true })
      const first = inputs.map((input) => gradientOf(input).data.slice())
      for (const input of inputs) gradientOf(input).dispose()
      y.backward(dy)
      inputs.forEach((input, i) => assert.deepEqual(gradientOf(input).data, first[i]))
      for (const input of inputs) gradientOf(input).dispose()
    }
    gpt.scope(twice)
    const before = usedMemory(gpt)
    for (let i = 0; i < 20; i++) gpt.scope(twice)
    assert.equal(usedMemory(gpt), before)
  })
}

for (const name of Object.keys(LAYERS)) {
  test(`backward through ${name} takes the parameters as they were in the forward, or is refused`, () => {
    const { run, inputs } = layerOf(name)
    const gradients = (change = () => {}) => {
      for (const input of inputs) input.grad = null
      const y = run()
      change()
      y.backward(gpt.ones(y.shape))
      return inputs.map((input) => [...gradientOf(input).data])
    }
    const expected = inputs.length > 0 ? gradients() : []
    for (const input of inputs) {
      const values = input.data.slice()
      let found
      try {
        found = gradients(() => void gpt.init.constant(input, 9))
      } catch (error) {
        assert.match(String(error), /should be as it was in the forward, .* has changed since$/)
      }
      assert.deepEqual(found ?? expected, expected)
      input.data.set(values)
    }
  })
}

test('without a scope, the last backward frees what the first one has retained', () => {
  const model = new gpt.FeedForward({ embDim: 4 })
  const x = gpt.randn([2, 4])
  const step = () => {
    const loss = gpt.scope(() => model.forward(x).sum())
    loss.backward({ retainGraph: true })
    loss.backward()
    loss.dispose()
  }
  step()
  const before = usedMemory(gpt)
  for (let i = 0; i < 50; i++) step()
  assert.equal(usedMemory(gpt), before)
})
