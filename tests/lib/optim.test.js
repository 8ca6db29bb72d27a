// The optimizers and gradient clipping, compared with PyTorch's.

/** @import { Optimizer, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTask } from 'node:timers/promises'
import { power } from '../../build/lib/optim/adam.js'
import {
  assertClose,
  assertNear,
  assertRefuses,
  golden,
  gradientOf,
  heapSize,
  inheriting,
  loadForTest,
  rowsOf,
  untyped,
  usedMemory,
} from './support.js'

const { runs, clips } = golden('optim')
const camelCase = (/** @type {string} */ name) =>
  name.replace(/_[a-z]/g, (letters) => letters[1].toUpperCase())

const gpt = await loadForTest()

const inCamelCase = (/** @type {object} */ options) =>
  Object.fromEntries(Object.entries(options).map(([key, value]) => [camelCase(key), value]))

/** @typedef {{ name: 'SGD' | 'Adam' | 'AdamW', options: object, groups: object[] | null }} Run */

/** The parameters of tests/golden/optim.py and an optimizer of them. @param {Run} run */
function begin(run) {
  gpt.manualSeed(3)
  const parameters = [gpt.randn([3, 7]), gpt.randn([5])]
  return { parameters, optimizer: create(run, parameters) }
}

/**
 * @param {Run} run options and groups: under PyTorch's names
 * @param {Tensor[]} parameters
 * @returns {Optimizer}
 */
function create({ name, options, groups }, parameters) {
  const given = groups
    ? parameters.map((parameter, i) => ({ params: [parameter], ...inCamelCase(groups[i]) }))
    : parameters
  return new (untyped(gpt)[name])(given, inCamelCase(options))
}

/**
 * One step with the gradients that tests/golden/optim.py draws.
 *
 * @param {Tensor[]} parameters
 * @param {Optimizer} optimizer
 * @param {number} step
 */
function takeStep(parameters, optimizer, step) {
  gpt.scope(() => {
    const gradients = [gpt.randn([3, 7]), gpt.randn([5])]
    if (step === 5) for (const group of optimizer.paramGroups) group.lr /= 2
    parameters[0].grad = gradients[0]
    parameters[1].grad = step === 0 || step === 7 ? null : gradients[1]
    optimizer.step()
  })
}

for (const { after, state, ...run } of runs) {
  const title = `${run.name}(${JSON.stringify(run.groups ?? [])}, ${JSON.stringify(run.options)})`
  test(`ten steps of ${title} are PyTorch’s`, () => {
    const { parameters, optimizer } = begin(run)
    for (let step = 0; step < 10; step++) {
      takeStep(parameters, optimizer, step)
      parameters.forEach((parameter, i) => assertClose(parameter, after[step][i], 2e-6))
    }
    const own = optimizer.stateDict()
    assert.deepEqual(Object.keys(own).sort(), Object.keys(state).sort())
    for (const [key, tensor] of Object.entries(own)) assertNear(tensor, state[key], 1e-6, key)
  })

  test(`${title} resumes from a saved state with the same bits`, () => {
    const { parameters, optimizer } = begin(run)
    for (let step = 0; step < 4; step++) takeStep(parameters, optimizer, step)
    const copies = parameters.map((parameter) => parameter.clone())
    const resumed = create(run, copies)
    resumed.loadStateDict(gpt.loadSafetensors(gpt.saveSafetensors(optimizer.stateDict())))
    for (const [updated, by] of /** @type {const} */ ([
      [parameters, optimizer],
      [copies, resumed],
    ])) {
      gpt.manualSeed(9)
      for (let step = 4; step < 7; step++) takeStep(updated, by, step)
    }
    copies.forEach((copy, i) => assert.deepEqual(copy.toArray(), parameters[i].toArray()))
  })
}

test('an optimizer steps down the gradients, and zeroGrad forgets them', () => {
  gpt.manualSeed(1)
  const x = gpt.parameter(gpt.randn([4, 3]))
  const optimizer = new gpt.SGD([x], { lr: 1 })
  const before = rowsOf(x).flat()
  gpt.scope(() => {
    new gpt.ReLU().forward(x).sum().backward()
    optimizer.step()
  })
  assert.deepEqual(
    rowsOf(x).flat(),
    before.map((value) => Math.fround(value - (value > 0 ? 1 : 0))),
  )
  optimizer.zeroGrad()
  assert.equal(x.grad, null)
  const message = 'SGD.step: at least one of 1 parameters should have a gradient: call loss.backward() first'
  assertRefuses(() => optimizer.step(), 'VALUE', message)
})

test('what all objects inherit is no state and no option of an optimizer', async () => {
  const train = () =>
    [gpt.SGD, gpt.AdamW].map((Class) => {
      const w = gpt.parameter(gpt.tensor([1, 2]))
      const optimizer = new Class([w], { lr: 0.1, ...(Class === gpt.SGD && { momentum: 0.9 }) })
      for (let step = 0; step < 2; step++) {
        w.mul(w).sum().backward()
        optimizer.step()
      }
      optimizer.loadStateDict(optimizer.stateDict())
      optimizer.step()
      return [w.toArray(), Object.keys(optimizer.stateDict())]
    })
  assert.deepEqual(await inheriting(['inherited', 'params'], train), train())
})

test('a parameter whose gradient was disposed is skipped, by a step and by clipping', () => {
  const [x, y] = [gpt.parameter(gpt.ones([2])), gpt.parameter(gpt.ones([2]))]
  for (const parameter of [x, y]) parameter.grad = gpt.tensor([3, 4])
  gradientOf(x).dispose()
  assert.equal(gpt.clipGradNorm([x, y], 10), 5)
  new gpt.SGD([x, y], { lr: 1 }).step()
  assert.deepEqual(
    [x.toArray(), y.toArray()],
    [
      [1, 1],
      [-2, -3],
    ],
  )
})

test('an optimizer’s state outlives the scope of its steps, and dispose frees it', () => {
  const x = gpt.ones([8])
  const before = usedMemory(gpt)
  const optimizer = new gpt.AdamW([x])
  for (let i = 0; i < 3; i++) {
    gpt.scope(() => {
      x.grad = gpt.ones([8])
      optimizer.step()
    })
  }
  assert.equal(optimizer.stateDict()['state.0.step'].item(), 3)
  optimizer.zeroGrad()
  optimizer.dispose()
  optimizer.dispose()
  assert.equal(usedMemory(gpt), before)
  assert.deepEqual(optimizer.stateDict(), {})
})

for (const { maxNorm, scale, norm, grads } of clips) {
  test(`clipGradNorm of gradients of norm ${norm} to ${maxNorm} is PyTorch’s`, () => {
    gpt.manualSeed(3)
    const parameters = [gpt.zeros([3, 7]), gpt.zeros([2]), gpt.zeros([5])]
    parameters[0].grad = gpt.randn([3, 7]).mul(scale)
    parameters[2].grad = gpt.randn([5]).mul(scale)
    const found = gpt.clipGradNorm(parameters, maxNorm)
    assert.ok(Math.abs(found - norm) <= 1e-6 * norm, `${found}`)
    assertNear(gradientOf(parameters[0]), grads[0], 1e-6)
    assertNear(gradientOf(parameters[2]), grads[1], 1e-6)
    assert.equal(parameters[1].grad, null)
  })
}

test('clipGradNorm scales gradients of 1e20, whose squares overflow in PyTorch', () => {
  const x = gpt.parameter(gpt.ones([100]))
  x.mul(1e20).sum().backward()
  const norm = gpt.clipGradNorm([x], 1)
  assert.ok(Math.abs(norm / 1e21 - 1) <= 1e-6, `${norm}`)
  for (const gradient of gradientOf(x).data) assert.ok(Math.abs(gradient - 0.1) <= 1e-7, `${gradient}`)
})

test('an infinite or NaN gradient makes them NaN, as in PyTorch, or an error that changes none', () => {
  for (const value of [Infinity, NaN]) {
    const x = gpt.parameter(gpt.ones([2]))
    x.grad = gpt.tensor([1, value])
    const clip = (/** @type {boolean} */ errorIfNonfinite) => gpt.clipGradNorm([x], 1, { errorIfNonfinite })
    assertRefuses(
      () => clip(true),
      'VALUE',
      `clipGradNorm: the gradients' norm should be finite, got ${value}`,
    )
    assert.deepEqual(gradientOf(x).toArray(), [1, value])
    assert.equal(clip(false), value)
    assert.deepEqual(gradientOf(x).toArray(), [value === Infinity ? 0 : NaN, NaN])
    const optimizer = new gpt.AdamW([x])
    optimizer.step()
    optimizer.loadStateDict(optimizer.stateDict()) // a state of NaN is no error
  }
})

test('clipGradNorm of no gradients is 0', () => assert.equal(gpt.clipGradNorm([gpt.zeros([2])], 1), 0))

test('AdamW goes on from a state of no step, of 2 ** 24 and from none', () => {
  const x = gpt.ones([2])
  const optimizer = new gpt.AdamW([x])
  x.grad = gpt.ones([2])
  optimizer.step()
  for (const step of [0, 2 ** 24, 2 ** 24]) {
    optimizer.loadStateDict({ ...optimizer.stateDict(), 'state.0.step': gpt.tensor(step) })
    optimizer.step()
  }
  optimizer.loadStateDict({})
  assert.deepEqual(optimizer.stateDict(), {})
})

test('a state that makes the memory grow while it is loaded is the one that was given', async () => {
  const own = await loadForTest()
  const x = own.ones([2 ** 19])
  const state = {
    'state.0.step': own.tensor(3),
    'state.0.exp_avg': own.ones([2 ** 19]).mul(0.5),
    'state.0.exp_avg_sq': own.ones([2 ** 19]).mul(0.25),
  }
  const before = heapSize(own)
  const optimizer = new own.AdamW([x])
  optimizer.loadStateDict(state)
  assert.ok(heapSize(own) > before, 'the memory has to grow, or this tests nothing')
  for (const [name, tensor] of Object.entries(optimizer.stateDict()))
    assert.deepEqual(tensor.data, state[/** @type {keyof typeof state} */ (name)].data, name)
})

test('a step is taken as a whole or not at all, whatever was done to the state', () => {
  const [x, y] = [gpt.ones([2]), gpt.ones([2])]
  const optimizer = new gpt.AdamW([x, y])
  const values = () => [x, y].map((parameter) => parameter.toArray())
  for (const parameter of [x, y]) parameter.grad = gpt.ones([2])
  optimizer.step()
  const before = values()
  const { 'state.1.step': step, 'state.1.exp_avg': mean } = optimizer.stateDict()
  step.data[0] = -5
  assertRefuses(
    () => optimizer.step(),
    'VALUE',
    'AdamW.step: state.1.step should be an integer from 0 to 16777216, got -5',
  )
  step.data[0] = 1
  mean.dispose()
  assertRefuses(
    () => optimizer.step(),
    'DISPOSED',
    'AdamW.step: state.1.exp_avg should be a live Tensor, got one that was disposed',
  )
  assert.deepEqual(values(), before)
  assert.equal(optimizer.stateDict()['state.0.step'].item(), 1)
})

test('AdamW’s powers of beta have the same bits in every engine: only products', () => {
  const exact = (/** @type {number} */ base, /** @type {number} */ n) => {
    // The same squarings, written another way: from the highest bit of n down.
    let [result, square] = [1, base]
    for (const bit of [...n.toString(2)].reverse()) {
      if (bit === '1') result *= square
      square *= square
    }
    return result
  }
  for (const base of [0.9, 0.999, 0.5, 0, 0.95]) {
    for (const n of [0, 1, 2, 3, 10, 1000, 12345, 2 ** 24]) {
      assert.equal(power(base, n), exact(base, n))
      const difference = Math.abs(power(base, n) - base ** n)
      assert.ok(difference <= 1e-12 * base ** n, `${base}^${n}`)
    }
  }
})

test('a step whose state does not fit into memory changes nothing', async () => {
  const small = await loadForTest({ maxMemory: 4 })
  const [x, y] = [small.ones([1000]), small.ones([2 ** 18])]
  x.grad = small.ones([1000])
  y.grad = small.ones([2 ** 18])
  const optimizer = new small.AdamW([x, y])
  const before = usedMemory(small)
  assertRefuses(() => optimizer.step(), 'MEMORY', /^AdamW.step: needs 1048576 bytes/)
  assert.deepEqual([x.data[0], usedMemory(small), optimizer.stateDict()], [1, before, {}])
  y.grad = null
  optimizer.step()
  assert.notEqual(x.data[0], 1)
})

test('groups have their own options, the optimizer’s where they do not say, and can be set', () => {
  const [x, y, z] = [1, 2, 3].map(() => gpt.parameter(gpt.ones([2])))
  /** @type {[number, number]} */
  const betas = [0, 0]
  const groups = [
    { params: [x, y], weightDecay: 0.1 },
    { params: [z], lr: 0.5, betas },
    { params: [] }, // as in PyTorch
  ]
  const optimizer = new gpt.AdamW(groups, { lr: 0.1 })
  const [first, second] = optimizer.paramGroups
  assert.deepEqual(first.params, [x, y])
  assert.deepEqual([first.lr, first.betas, first.eps, first.weightDecay], [0.1, [0.9, 0.999], 1e-8, 0.1])
  assert.deepEqual([second.lr, second.betas, second.weightDecay], [0.5, [0, 0], 0.01])
  assert.deepEqual(optimizer.parameters, [x, y, z])
  assert.equal(String(optimizer), 'AdamW(3 parameters, lr=0.1, 0.5)')
  const differ = 'lr should be read from paramGroups where groups differ, got 0.1 and 0.5'
  assertRefuses(() => optimizer.lr, 'VALUE', differ)
  optimizer.lr = 0.25
  assert.deepEqual([first.lr, second.lr, optimizer.lr], [0.25, 0.25, 0.25])
  z.grad = gpt.ones([2])
  optimizer.step()
  assert.notEqual(z.data[0], 1)
  assert.equal(String(optimizer), 'AdamW(3 parameters, lr=0.25)')
  assert.throws(() => (untyped(first).weight_decay = 0), TypeError)
  assert.throws(() => (untyped(first).params = []), TypeError)
  for (const fixed of [optimizer.paramGroups, first.params])
    assert.throws(() => untyped(fixed).pop(), TypeError)
  betas[0] = 0.5
  assert.deepEqual(second.betas, [0, 0])
  assert.equal(new gpt.SGD([{ params: [x], lr: 2 }]).lr, 2)
})

test('each step checks the options that were set, and changes nothing where one is bad', () => {
  const [x, y] = [gpt.ones([2]), gpt.ones([2])]
  x.grad = gpt.ones([2])
  const one = new gpt.AdamW([x, y])
  one.lr = untyped('fast')
  assertRefuses(() => one.step(), 'TYPE', 'AdamW.step: lr should be a finite number >= 0, got "fast"')
  const two = new gpt.AdamW([{ params: [x] }, { params: [y] }])
  two.paramGroups[1].eps = untyped('small')
  assertRefuses(
    () => two.step(),
    'TYPE',
    'AdamW.step: paramGroups[1].eps should be a finite number >= 0, got "small"',
  )
  for (const optimizer of [one, two])
    assert.deepEqual([x.toArray(), x.grad.toArray(), optimizer.stateDict()], [[1, 1], [1, 1], {}])
})

test('a state dict has no options: those of the constructor stay', () => {
  const make = (lr = 0.5) => {
    const [x, y] = [1, 2].map((size) => gpt.parameter(gpt.ones([size])))
    const optimizer = new gpt.SGD([{ params: [x] }, { params: [y], lr: 2 }], { lr, momentum: 0.5 })
    for (const parameter of [x, y]) parameter.grad = gpt.ones(parameter.shape)
    optimizer.step()
    return optimizer
  }
  const [first, second] = [make(), make(0.25)]
  assert.deepEqual(Object.keys(first.stateDict()), ['state.0.momentum_buffer', 'state.1.momentum_buffer'])
  second.loadStateDict(first.stateDict())
  assert.deepEqual(
    second.paramGroups.map(({ lr }) => lr),
    [0.25, 2],
  )
})

test('SGD’s momentum may be set later, and back to 0', () => {
  const x = gpt.parameter(gpt.zeros([1]))
  const optimizer = new gpt.SGD([x], { lr: 1, dampening: 0.5 })
  const moved = (/** @type {number} */ momentum, step = 0) => {
    optimizer.paramGroups[0].momentum = momentum
    const before = x.item()
    x.grad = gpt.tensor([step + 1])
    optimizer.step()
    return before - x.item()
  }
  // PyTorch: the first momentum_buffer is the gradient; without momentum it rests.
  assert.deepEqual([0, 0.5, 0.5, 0, 0.5].map(moved), [1, 2, 2.5, 4, 3.75])
  assert.deepEqual(Object.keys(optimizer.stateDict()), ['state.0.momentum_buffer'])
  moved(0)
  const dict = optimizer.stateDict()
  optimizer.loadStateDict(dict)
  assert.deepEqual(optimizer.stateDict(), {})
})

/**
 * Lion. Chen et al. 2023, arXiv:2302.06675: w = w - lr · (sign(beta1 · m + (1 - beta1) · g) + decay · w)
 *
 * @extends {gpt.Optimizer<{ lr: number, betas: number[], weightDecay: number }>}
 */
class Lion extends gpt.Optimizer {
  constructor(/** @type {any} */ parameters, { lr = 1e-4, betas = [0.9, 0.99], weightDecay = 0 } = {}) {
    super(parameters, { lr, betas, weightDecay })
  }
  /** @param {Tensor} parameter */
  stateShapes({ shape }) {
    return { exp_avg: shape }
  }
  /** @type {(w: Tensor, grad: Tensor, state: Record<string, Tensor>, options: any) => void} */
  update(w, grad, { exp_avg: m }, { lr, betas: [beta1, beta2], weightDecay }) {
    const direction = m.mul(beta1).add(grad.mul(1 - beta1)) // a temporary tensor, as users make them
    const [weights, means, slopes, signs] = [w, m, grad, direction].map(({ data }) => data)
    for (let i = 0; i < weights.length; i++) {
      weights[i] -= lr * (Math.sign(signs[i]) + weightDecay * weights[i])
      means[i] = beta2 * means[i] + (1 - beta2) * slopes[i]
    }
  }
}

test('an optimizer of one’s own may keep tensors in its properties, and may not be asynchronous', async () => {
  class Keeping extends gpt.Optimizer {
    /** @type {Map<Tensor, Tensor>} */
    last = new Map()
    /** @type {(w: Tensor, grad: Tensor) => void} */
    update(w, grad) {
      this.last.set(w, grad.mul(2))
    }
  }
  const x = gpt.parameter(gpt.tensor([1, -1]))
  x.sum().backward()
  const keeping = new Keeping([x], { lr: 1 })
  gpt.scope(() => keeping.step())
  assert.deepEqual(keeping.last.get(x)?.toArray(), [2, 2])
  class Late extends gpt.Optimizer {
    async update() {
      throw new Error('nobody waits for this')
    }
  }
  assertRefuses(
    () => new Late([x], { lr: 1 }).step(),
    'TYPE',
    'Late.step: update should return at once, got a Promise',
  )
  await nextTask() // an unhandled rejection would end the test
})

test('an optimizer of one’s own has groups, a state dict and a state, and its temporary tensors are freed', () => {
  const [x, y] = [gpt.parameter(gpt.tensor([1, -1])), gpt.parameter(gpt.tensor([2]))]
  const groups = [
    { params: [x], weightDecay: 0.5 },
    { params: [y], lr: 1 },
  ]
  const lion = new Lion(groups, { lr: 0.125 })
  x.grad = gpt.tensor([4, -8])
  y.grad = gpt.tensor([-1])
  lion.step()
  assert.deepEqual([x.toArray(), y.toArray()], [[0.8125, -0.8125], [3]])
  const dict = lion.stateDict()
  assert.deepEqual(Object.keys(dict), ['state.0.exp_avg', 'state.1.exp_avg'])
  assert.deepEqual(
    [...dict['state.0.exp_avg'].data],
    [4, -8].map((g) => Math.fround(g * (1 - 0.99))),
  )
  const other = new Lion(groups, { lr: 9 })
  other.loadStateDict(dict)
  assert.deepEqual(other.stateDict(), dict)
  const before = usedMemory(gpt)
  for (let i = 0; i < 100; i++) lion.step()
  assert.equal(usedMemory(gpt), before)
  const loss = x.mul(x).sum()
  lion.step()
  assertRefuses(
    () => loss.backward(),
    'VALUE',
    "backward: a tensor of shape [2] should be as it was in the forward, got one that, say, an optimizer's step has changed since",
  )
  assertRefuses(() => new Lion([x], { lr: -1 }), 'VALUE', 'Lion: lr should be a finite number >= 0, got -1')
})

test('cosineWithWarmup without a warm-up falls from 1 to 0, and stays there', () => {
  const factor = gpt.cosineWithWarmup({ steps: 4 })
  assert.deepEqual(
    [0, 2, 4, 5].map((i) => Number(factor(i).toFixed(9))),
    [1, 0.5, 0, 0],
  )
})
