/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTask } from 'node:timers/promises'
import { LAYERS } from '../layers.js'
import {
  assertRefuses,
  collectGarbage,
  gradientOf,
  loadForTest,
  until,
  untyped,
  usedMemory,
} from './support.js'

const gpt = await loadForTest()

/** @param {number[] | number[][]} values */
const parameter = (values) => gpt.parameter(gpt.tensor(values))

// What backward says where a tensor that the forward used is gone or was changed.
/** @param {number[]} shape */
const disposed = (shape) =>
  `backward: a tensor of shape [${shape.join(', ')}] should be live, since the forward used it and its gradient reads it, got one that was disposed`
/** @param {number[]} shape */
const changed = (shape) =>
  `backward: a tensor of shape [${shape.join(', ')}] should be as it was in the forward, got one that, say, an optimizer's step has changed since`

test('a layer may be called twice before one backward, with batches of different sizes', () => {
  const layer = new gpt.Linear(3, 2)
  const [a, b] = [gpt.randn([4, 3]), gpt.randn([2, 3])]
  layer.forward(a).sum().backward()
  layer.forward(b).mul(2).sum().backward()
  const expected = gradientOf(layer.weight).toArray()
  layer.zeroGrad()
  const first = layer.forward(a)
  const second = layer.forward(b)
  second.mul(2).sum().add(first.sum()).backward()
  assert.deepEqual(gradientOf(layer.weight).toArray(), expected)
})

test('a listener may call the layer again, and go backward, without changing the gradients', () => {
  const layer = new gpt.LayerNorm(3)
  const model = new gpt.Sequential(new gpt.Linear(3, 3), layer)
  const x = gpt.randn([2, 3])
  model.forward(x).pow(2).sum().backward()
  const expected = model.parameters().map((parameter) => gradientOf(parameter).toArray())
  model.zeroGrad()
  let calls = 0
  layer.onForward(({ input }) => {
    if (calls++ > 0) return
    const own = gpt.parameter(untyped(input).detach().clone())
    layer.forward(own)
    gpt.noGrad(() => layer.forward(own))
    own.exp().sum().backward()
    assert.equal(gradientOf(own).size, own.size)
  })
  model.forward(x).pow(2).sum().backward()
  assert.equal(calls, 3)
  assert.deepEqual(
    model.parameters().map((parameter) => gradientOf(parameter).toArray()),
    expected,
  )
})

test('requiresGrad can be set on a leaf, and follows for what is computed', () => {
  const x = gpt.tensor([1, 2])
  assert.equal(x.requiresGrad, false)
  assert.equal(x.mul(2).requiresGrad, false)
  x.requiresGrad = true
  const y = x.mul(2)
  assert.equal(y.requiresGrad, true)
  y.sum().backward()
  assert.deepEqual(gradientOf(x).toArray(), [2, 2])
  x.requiresGrad = false
  assert.equal(x.mul(2).requiresGrad, false)
})

test('noGrad records nothing, may be nested, and ends after an exception', () => {
  const w = parameter([1, 2])
  const loss = w.sum()
  gpt.noGrad(() => {
    gpt.noGrad(() => assert.equal(w.mul(2).requiresGrad, false))
    assert.equal(w.mul(2).requiresGrad, false)
    loss.backward()
  })
  assert.deepEqual(gradientOf(w).toArray(), [1, 1])
  assert.throws(() =>
    gpt.noGrad(() => {
      throw new Error('mine')
    }),
  )
  assert.equal(w.mul(2).requiresGrad, true)
})

test('gpt.record puts a kernel of one’s own on the tape; null stands for zeros', () => {
  const [a, b] = [parameter([1, 2]), parameter([3, 4])]
  const constant = gpt.ones([2])
  /** @type {unknown} */
  let asked
  const cube = gpt.record(gpt.tensor([...a.data].map((x) => x ** 3)), [a, b, constant], (dy, wanted) => {
    asked = wanted
    assert.equal(a.mul(2).requiresGrad, false)
    return [dy.mul(a).mul(a).mul(3), null, untyped(undefined)]
  })
  cube.mul(2).sum().backward()
  assert.deepEqual(asked, [true, true, false])
  assert.deepEqual(gradientOf(a).toArray(), [6, 24])
  assert.equal(b.grad, null)
  assert.equal(constant.grad, null)
  assert.equal(gpt.record(gpt.ones([2]), [constant], () => [null]).requiresGrad, false)
  const sum = gpt.scope(() => {
    /** @type {Tensor} */
    const y = gpt.record(gpt.tensor([7, 8]), [a], (dy) => [dy.mul(y)])
    return y.sum()
  })
  sum.backward() // the output has outlived the scope
  assert.deepEqual(gradientOf(a).toArray(), [13, 32])
})

test('a frozen parameter gets no gradient, and a frozen layer keeps nothing', () => {
  const model = new gpt.Sequential(new gpt.Linear(64, 64), new gpt.LayerNorm(64), new gpt.Linear(64, 1))
  const [first, norm] = model.layers
  const x = gpt.randn([8, 64])
  const keptBy = () => {
    const before = usedMemory(gpt)
    const y = model.forward(x)
    const kept = usedMemory(gpt) - before
    y.dispose()
    return kept
  }
  const whole = keptBy()
  for (const frozen of [...first.parameters(), ...norm.parameters()]) frozen.requiresGrad = false
  assert.ok(keptBy() < whole / 2)
  model.forward(x).sum().backward()
  const grads = model.parameters().map(({ grad }) => grad)
  assert.deepEqual(
    grads.map((grad) => grad !== null),
    [false, false, false, false, true, true],
  )
  for (const frozen of model.parameters()) frozen.requiresGrad = false
  assert.equal(model.forward(x).requiresGrad, false)
})

test('backward makes no gradient of a frozen weight', (t) => {
  const layer = new gpt.Linear(64, 64).requiresGrad(false)
  const y = layer.forward(gpt.parameter(gpt.randn([8, 64])))
  const dy = gpt.ones([8, 64])
  const { mock } = t.mock.method(untyped(gpt.Tensor), 'empty')
  y.backward(dy)
  const shapes = mock.calls.map((/** @type {any} */ call) => String(call.arguments[0]))
  assert.ok(shapes.includes('8,64') && !shapes.includes('64,64'), shapes.join('; '))
})

test('in noGrad nothing stays but the output, which dispose frees at once', () => {
  for (const [name, make] of Object.entries(LAYERS)) {
    const [layer, input] = make(gpt, { rows: 6, cols: 8, heads: 2 })
    for (const change of [() => layer.train(), () => layer.eval(), () => layer.quantize()]) {
      change()
      const before = usedMemory(gpt)
      const y = gpt.noGrad(() => layer.forward(input))
      assert.equal(y.requiresGrad, false)
      y.dispose()
      assert.equal(usedMemory(gpt), before, name)
    }
  }
})

test('backward through all parts of a tensor makes one gradient of its size, not one for each part', () => {
  const parts = 16
  const Tensor = untyped(gpt.Tensor)
  const { full } = Tensor
  for (const isLeaf of [true, false]) {
    const x = gpt.parameter(gpt.randn([parts, 8]))
    const whole = isLeaf ? x : x.mul(2)
    const weighted = Array.from({ length: parts }, (_, i) => whole.at(i).mul(i))
    const loss = weighted.reduce((sum, part) => sum.add(part)).sum()
    let made = 0
    Tensor.full = (/** @type {number[]} */ shape, /** @type {number} */ value) => {
      if (shape.length === 2 && shape[0] === parts) made++
      return full(shape, value)
    }
    try {
      loss.backward()
    } finally {
      Tensor.full = full
    }
    assert.equal(made, 1)
    assert.deepEqual(
      x.grad?.toArray(),
      weighted.map((_, i) => Array(8).fill(isLeaf ? i : 2 * i)),
    )
    const { grad } = x
    x.slice(0, 1).sum().backward()
    assert.equal(x.grad, grad)
    assert.equal(x.grad?.data[0], 1)
  }
})

/**
 * An operation made by `record`: its gradient function gives 2 dy to both inputs. `pair` makes the two tensors of
 * it, which share memory.
 *
 * @param {(g: Tensor) => [Tensor, Tensor]} [pair]
 */
const twice = (pair = (g) => [g, g]) => {
  return (/** @type {Tensor} */ a, /** @type {Tensor} */ b) =>
    gpt.record(gpt.ones([2]), [a, b], (dy) => pair(dy.mul(2)))
}

/**
 * Graphs of two leaves [2], and the gradient of each for dy = [10, 20]; null where a leaf gets none.
 *
 * @type {[graph: (a: Tensor, b: Tensor) => Tensor, da: number[], db: number[] | null][]}
 */
const GRAPHS = [
  [(a, b) => a.add(b), [10, 20], [10, 20]],
  [(a, b) => a.reshape([2, 1]).reshape([2]).add(b.clone()), [10, 20], [10, 20]],
  [(a, b) => gpt.record(gpt.ones([2]), [a, b], (dy) => [dy, dy]), [10, 20], [10, 20]],
  [(a, b) => gpt.record(gpt.ones([2]), [a, b], (dy) => [dy.detach(), dy.reshape([2])]), [10, 20], [10, 20]],
  [(a, b) => twice()(a, b), [20, 40], [20, 40]],
  [(a, b) => twice()(a.mul(1), b.mul(1)), [20, 40], [20, 40]],
  [twice((g) => [g, g.reshape([1, 2]).reshape([2])]), [20, 40], [20, 40]],
  [twice((g) => [g.detach(), g]), [20, 40], [20, 40]],
  [(a) => twice()(a, a), [40, 80], null],
  [
    (a, b) => {
      const [h, k] = [a.mul(1), b.mul(1)]
      return twice()(h, k).add(twice()(k, h)).add(h).add(k)
    },
    [50, 100],
    [50, 100],
  ],
  [
    (a, b) => {
      const [whole, other] = [a.mul(1), b.mul(1)]
      const first = whole.at(0) // its gradient comes last
      return whole.add(other).add(first.mul(gpt.tensor([1, 0])))
    },
    [20, 20],
    [10, 20],
  ],
  [(a) => a.indexSelect({ dim: 0, index: [1, 0] }), [20, 10], null],
  [(a) => a.gather({ dim: 0, index: [1, 0] }), [20, 10], null],
  [(a) => a.topk(2).values, [20, 10], null],
  [
    (a) =>
      a
        .slice(1)
        .mul(1)
        .reshape([1])
        .expand([2])
        .mul(gpt.tensor([1, 0])),
    [0, 10],
    null,
  ],
  [(a) => a.add(a.mul(0)), [10, 20], null],
  [(a) => a.mul(0).add(a), [10, 20], null],
]

/**
 * The gradients that `backward` is given. `give` returns it, and may set the .grad of the leaves a and b. The two
 * numbers say what the leaves have then: a.grad is the first number times [10, 20], b.grad the second one.
 *
 * @type {Record<string, [give: (dy: Tensor, a: Tensor, b: Tensor) => Tensor, a: number, b: number]>}
 */
const GIVEN = {
  'a tensor': [(dy) => dy, 0, 0],
  'a view of a tensor': [(dy) => dy.reshape([2, 1]).reshape([2]), 0, 0],
  'the .grad of a leaf': [(dy, a) => (a.grad = dy), 1, 0],
  'a view of the .grad of a leaf': [(dy, a) => (a.grad = dy).detach(), 1, 0],
  'the .grad of the other leaf': [(dy, _, b) => (b.grad = dy), 0, 1],
  'a tensor, and the leaves have a .grad': [
    (dy, a, b) => [a, b].map((x) => (x.grad = dy.mul(3))) && dy,
    3,
    3,
  ],
}

for (const [given, [give, ...before]] of Object.entries(GIVEN)) {
  test(`leaves get their gradients, each in its own memory, where backward is given ${given}`, () => {
    for (const [graph, ...added] of GRAPHS) {
      const [a, b] = [parameter([1, 2]), parameter([3, 4])]
      const dy = give(gpt.tensor([10, 20]), a, b)
      graph(a, b).backward(dy)
      const expected = added.map((sum, i) =>
        sum || before[i] ? [10, 20].map((value, k) => before[i] * value + (sum?.[k] ?? 0)) : null,
      )
      const values = () => [a, b].map(({ grad }) => grad?.toArray() ?? null)
      assert.deepEqual(values(), expected, String(graph))
      if (!before.includes(1)) {
        assert.deepEqual(dy.toArray(), [10, 20], String(graph))
        dy.data.fill(7)
      }
      for (const [i, { grad }] of [a, b].entries()) {
        grad?.data.fill(5)
        if (grad) expected[i] = [5, 5]
        assert.deepEqual(values(), expected, String(graph))
      }
    }
  })
}

test('a gradient function may return the .grad of a leaf, and a view of it', () => {
  const x = parameter([1, 2])
  x.backward(gpt.tensor([10, 20]))
  const step = gpt.record(gpt.ones([2]), [x, x.mul(1)], () => [gradientOf(x), gradientOf(x).detach()])
  step.backward(gradientOf(x))
  assert.deepEqual(gradientOf(x).toArray(), [30, 60])
})

test('a second backward through a graph is refused, and changes nothing', () => {
  const [v, w] = [parameter([5, 6]), parameter([1, 2])]
  const h = w.mul(w)
  const [loss, other] = [h.sum(), h.mul(v).sum()]
  loss.backward()
  for (const again of [loss, other, h.mean()]) {
    const message =
      'backward: should be called once; an earlier backward has freed the graph. Run the forward again'
    assert.throws(() => again.backward(), { code: 'VALUE', message })
  }
  assert.deepEqual(gradientOf(w).toArray(), [2, 4])
  assert.equal(v.grad, null)
})

test('backward multiplies by the gradient that it is given, which stays as it is; a single number needs none', () => {
  const w = parameter([1, 2])
  const y = w.mul(3)
  const dy = gpt.tensor([1, 10])
  y.backward(dy)
  assert.deepEqual(gradientOf(w).toArray(), [3, 30])
  assert.deepEqual(dy.toArray(), [1, 10])
  w.mul(2).slice(1).reshape([1, 1]).backward()
  assert.deepEqual(gradientOf(w).toArray(), [3, 32])
  w.backward(dy)
  gradientOf(w).data.fill(0)
  assert.deepEqual(dy.toArray(), [1, 10])
})

test('a tensor that the forward used and that was disposed since is named', () => {
  const w = parameter([1, 2])
  const x = gpt.ones([2])
  const loss = w.mul(x).sum()
  x.dispose()
  assert.throws(() => loss.backward(), { code: 'DISPOSED', message: disposed([2]) })
  const layer = new gpt.Linear(2, 2)
  const lost = layer.forward(layer.forward(w)).sum()
  layer.quantize()
  assert.throws(() => lost.backward(), { code: 'DISPOSED', message: disposed([2, 2]) })
})

/** @type {Record<string, (layer: InstanceType<typeof gpt.Linear>) => void>} */
const CHANGES = {
  'an optimizer’s step': (layer) => new gpt.SGD(layer.parameters(), { lr: 1 }).step(),
  loadStateDict: (layer) => void layer.loadStateDict(new gpt.Linear(2, 2).stateDict()),
  'gpt.init': (layer) => void gpt.init.zeros(layer.weight),
}
for (const [name, change] of Object.entries(CHANGES)) {
  test(`backward through a weight that ${name} has changed since is refused, in a retained graph, too`, () => {
    const layer = new gpt.Linear(2, 2)
    const forward = () => layer.forward(layer.forward(gpt.ones([1, 2]))).sum()
    const [first, second] = [forward(), forward()]
    first.backward({ retainGraph: true })
    change(layer)
    for (const loss of [first, second])
      assert.throws(() => loss.backward(), { code: 'VALUE', message: changed([2, 2]) })
    forward().backward()
  })
}

test('backward is refused where a .grad that it needs was changed since', () => {
  const w = parameter([3, 4])
  w.sum().backward()
  const clipped = w.mul(gradientOf(w)).sum()
  gpt.clipGradNorm([w], 0.1)
  assert.throws(() => clipped.backward(), { code: 'VALUE', message: changed([2]) })
  for (const adds of [w.sum(), w.slice(0, 1).sum()]) {
    const penalty = w.mul(gradientOf(w)).sum()
    adds.backward()
    assert.throws(() => penalty.backward(), { code: 'VALUE', message: changed([2]) })
  }
})

/** A model whose activations are 64 kB each. */
function largeModel() {
  const model = new gpt.Sequential(new gpt.Linear(8, 16), new gpt.GELU(), new gpt.LayerNorm(16))
  return { model, x: gpt.randn([1000, 8]) }
}

test('a scope that returns a loss keeps what backward needs, and backward frees it', () => {
  const { model, x } = largeModel()
  const step = () => gpt.scope(() => gpt.scope(() => model.forward(x).pow(2)).mean())
  step().backward()
  const before = usedMemory(gpt)
  const loss = step()
  assert.ok(usedMemory(gpt) - before > 128_000)
  loss.backward()
  assert.ok(usedMemory(gpt) - before < 100)
  const other = gpt.scope(() => ({ loss: step(), norm: gpt.ones([1]) }))
  other.loss.backward()
  assert.deepEqual(other.norm.toArray(), [1])
})

test('a scope frees a graph that it does not return, and backward within a scope leaves .grad alive', () => {
  const { model, x } = largeModel()
  gpt.scope(() => model.forward(x).mean().backward())
  const grads = model.parameters().map(gradientOf)
  const before = usedMemory(gpt)
  gpt.scope(() => void model.forward(x).mean())
  assert.equal(usedMemory(gpt), before)
  gpt.scope(() => {
    gpt.scope(() => model.forward(x).mean().backward())
    model.forward(x).mean().backward()
  })
  assert.equal(usedMemory(gpt), before)
  assert.deepEqual(
    grads.map(({ disposed }) => disposed),
    grads.map(() => false),
  )
})

test('a tensor that a scope made a parameter after its first use outlives backward', () => {
  const x = parameter([1, 2])
  const { first, second, w } = gpt.scope(() => {
    const w = gpt.tensor([3, 4])
    const first = x.mul(w).sum()
    w.requiresGrad = true
    return { first, second: w.mul(2).sum(), w: () => w }
  })
  first.backward()
  second.backward()
  assert.deepEqual(gradientOf(x).toArray(), [3, 4])
  assert.deepEqual(gradientOf(w()).toArray(), [2, 2])
})

test('two results of one scope share what their gradients read, and the last backward frees it', () => {
  const [w, v] = [parameter([3]), parameter([4])]
  const losses = () =>
    gpt.scope(() => {
      const c = gpt.tensor([2])
      return [w.mul(c).sum(), gpt.scope(() => v.mul(c).mul(c)).sum()]
    })
  for (const loss of losses()) loss.backward()
  assert.deepEqual([w, v].map(gradientOf).map(String), ['tensor([2.])', 'tensor([4.])'])
  const before = usedMemory(gpt)
  const [first, second] = losses()
  second.backward()
  first.backward()
  for (const loss of [first, second]) loss.dispose()
  assert.equal(usedMemory(gpt), before)
})

test('a graph is freed with the last tensor that leads to it: by its scope, or when that is disposed', () => {
  const { model, x } = largeModel()
  const before = usedMemory(gpt)
  const loss = () => gpt.scope(() => model.forward(x).exp().mean())
  gpt.scope(() => void loss().mul(2))
  assert.equal(usedMemory(gpt), before)
  const kept = loss()
  const next = kept.mul(2)
  kept.dispose()
  assert.ok(usedMemory(gpt) - before > 128_000)
  next.dispose()
  assert.equal(usedMemory(gpt), before)
})

test('a result outlives its scope where only a gradient reads it, and is freed after backward', () => {
  const x = parameter([1, 2])
  const before = usedMemory(gpt)
  /** @type {Tensor | null} */
  let inner = null
  const loss = gpt.scope(() => (inner = x.exp()).sum())
  const again = /** @type {Tensor} */ (/** @type {unknown} */ (inner))
  gpt.scope(() => again.mul(again).sum().backward({ retainGraph: true }))
  loss.backward()
  assert.ok(again.disposed)
  loss.dispose()
  const expected = [1, 2].map((value) => 2 * Math.exp(2 * value) + Math.exp(value))
  assert.ok(gradientOf(x).data.every((value, i) => Math.abs(value / expected[i] - 1) < 1e-6))
  x.grad = null
  assert.ok(usedMemory(gpt) - before < 100)
})

test('a gradient that is assigned in a scope stays, and so does the one that was in .grad before', () => {
  const [a, b] = [parameter([3]), parameter([4])]
  a.mul(3).sum().backward()
  const first = gradientOf(a)
  a.grad = null
  assert.equal(first.item(), 3)
  gpt.scope(() => {
    a.mul(3).sum().backward()
    a.grad = gradientOf(a).clamp({ max: 1 })
    gpt.scope(() => (b.grad = a.grad))
  })
  a.mul(3).sum().backward()
  assert.deepEqual([a, b].map(gradientOf).map(String), ['tensor([4.])', 'tensor([4.])'])
  a.dispose()
  assert.equal(gradientOf(b).item(), 4)
  const given = gpt.tensor([5])
  b.grad = given
  assert.equal(b.grad, given)
  gpt.scope(() => void (b.grad = gpt.tensor([5])))
  assert.equal(given.item(), 5)
  const before = usedMemory(gpt)
  for (let i = 0; i < 3; i++) gpt.scope(() => void (b.grad = gradientOf(b).mul(2)))
  assert.equal(gradientOf(b).item(), 40)
  assert.equal(usedMemory(gpt), before)
})

test('a graph of 10,000 steps is no deeper than one of ten', () => {
  const w = parameter([1])
  const loss = gpt.scope(() => {
    let h = w.mul(1)
    for (let i = 0; i < 10_000; i++) h = h.add(w)
    return h
  })
  loss.backward()
  assert.deepEqual(gradientOf(w).toArray(), [10_001])
})

test('an error in a gradient function comes out, and what was computed on the way is freed', () => {
  const w = gpt.parameter(gpt.ones([1000]))
  w.sum().backward()
  const failing = () => {
    const waiting = w.mul(3) // its gradient has come when the error does
    const h = gpt.record(gpt.ones([1000]), [w], () => {
      throw new Error('mine')
    })
    return h.mul(2).add(waiting).sum()
  }
  const before = usedMemory(gpt)
  gpt.scope(() => assert.throws(() => failing().backward(), /^Error: mine$/))
  assert.equal(usedMemory(gpt), before)
  assert.equal(w.mul(2).requiresGrad, true)
  w.sum().backward()
  assert.equal(gradientOf(w).data[0], 2)
})

test('backward within a gradient function goes through other graphs, and is refused in its own', () => {
  const [v, w] = [parameter([1, 2]), parameter([3, 4])]
  const other = v.mul(v).sum()
  const h = w.mul(w)
  gpt
    .record(gpt.ones([2]), [h], (dy) => {
      other.backward()
      return [dy]
    })
    .sum()
    .backward()
  assert.deepEqual(gradientOf(v).toArray(), [2, 4])
  assert.deepEqual(gradientOf(w).toArray(), [6, 8])
  const own = w.mul(w)
  const loss = gpt.record(gpt.ones([2]), [own], (dy) => {
    own.backward(dy)
    return [dy]
  })
  assertRefuses(
    () => loss.sum().backward(),
    'VALUE',
    'backward: should be called once; an earlier backward has freed the graph. Run the forward again',
  )
})

test('without a scope, backward frees at once what a layer has kept for it', () => {
  for (const [name, make] of Object.entries(LAYERS)) {
    const [layer, input] = make(gpt, { rows: 6, cols: 8, heads: 2 })
    const x = input instanceof gpt.Tensor ? gpt.parameter(input) : input
    const before = usedMemory(gpt)
    const y = layer.forward(x)
    const loss = y.sum()
    loss.backward()
    for (const owned of [loss, y, ...[x, ...layer.parameters()].map(({ grad }) => grad)]) owned?.dispose()
    assert.equal(usedMemory(gpt), before, name)
  }
})

test('a loss that is kept holds nothing of its graph after backward', async () => {
  const make = () => {
    const x = gpt.parameter(gpt.ones([3]))
    const loss = x.mul(2).sum()
    loss.backward()
    return { loss, x: new WeakRef(x) }
  }
  const { loss, x } = make()
  await nextTask() // a WeakRef that was made keeps its target to the end of the task
  await until(() => {
    collectGarbage()
    return x.deref() === undefined
  }, 'the parameter is collected')
  assert.equal(loss.item(), 6)
})
