// What gpt.Module offers a layer of the user's own: parameters, buffers, tensors kept for backward, hooks,
// context.

/** @import { Gpt, Module, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { assertCentralDifferences, assertRefuses, loadForTest, nextAddress, untyped } from './support.js'

/** @type {Gpt} */
let gpt
before(async () => {
  gpt = await loadForTest()
})

/** y = scale · x, with a buffer that counts the calls: a layer as a user writes it. */
const scaleClass = () =>
  class Scale extends gpt.Module {
    /** @param {number} size */
    constructor(size) {
      super()
      this.scale = gpt.randn([size])
      this.registerBuffer('callCount', gpt.zeros([]))
    }

    /** @override @param {Tensor} x */
    forward(x) {
      this.save({ x })
      return x.mul(this.scale)
    }

    /** @override @param {Tensor} dy */
    backward(dy) {
      const { x } = this.saved()
      this.scale.addGradient(dy.mul(x).sum({ dim: 0 }))
      return dy.mul(this.scale)
    }
  }

test('a user’s layer has gradients, alone and within Sequential, and works in a scope', () => {
  const Scale = scaleClass()
  gpt.manualSeed(3)
  const x = gpt.randn([4, 5])
  assertCentralDifferences(gpt, new Scale(5), x)
  const layer = new gpt.Sequential(new gpt.Linear(5, 6), new Scale(6), new gpt.Linear(6, 3))
  assertCentralDifferences(gpt, layer, x)
  const step = () =>
    gpt.scope(() => {
      layer.backward(layer.forward(x))
    })
  step()
  const address = nextAddress(gpt)
  step()
  assert.equal(nextAddress(gpt), address, 'a step leaves nothing behind')
  assert.equal(
    layer.parameters().every(({ grad }) => grad !== null && !grad.disposed),
    true,
  )
})

test('a buffer is in the state dict, in files and in dispose, but is no parameter', () => {
  const Scale = scaleClass()
  const layer = new Scale(2)
  assert.deepEqual(
    layer.namedParameters().map(([name]) => name),
    ['scale'],
  )
  assert.deepEqual(Object.keys(layer.stateDict()), ['scale', 'call_count'])
  const { call_count: count } = layer.stateDict()
  count.data[0] = 7
  const other = new Scale(2)
  other.loadSafetensors(layer.saveSafetensors())
  assert.equal(other.stateDict().call_count.item(), 7)
  assert.equal(layer.registerBuffer('callCount', gpt.ones([])).item(), 1) // a buffer may be replaced
  assert.equal(layer.stateDict().call_count.item(), 1)
  layer.dispose()
  assert.equal(layer.scale.disposed, true)
})

test('a buffer’s name must be new, and its tensor live', () => {
  const layer = new gpt.Linear(2, 2)
  const x = gpt.ones([1])
  for (const name of ['', 'a.b', 'weight', 'forward', 'training']) {
    assertRefuses(() => layer.registerBuffer(name, x), 'VALUE', /^Linear.registerBuffer: name should be new/)
  }
  assertRefuses(
    () => layer.registerBuffer(/** @type {any} */ (3), x),
    'TYPE',
    /name should be a string, got 3$/,
  )
  assertRefuses(
    () => layer.registerBuffer('mask', /** @type {any} */ ([1])),
    'TYPE',
    /tensor should be a Tensor, got \[1\]$/,
  )
  assert.equal('mask' in layer, false)
})

test('addGradient copies: two parameters that are given one tensor have gradients of their own', () => {
  const [a, b, gradient] = [gpt.zeros([2]), gpt.zeros([2]), gpt.tensor([1, 2])]
  for (let i = 0; i < 2; i++) for (const parameter of [a, b]) parameter.addGradient(gradient)
  assert.deepEqual(
    [a, b].map(({ grad }) => grad?.toArray()),
    [
      [2, 4],
      [2, 4],
    ],
  )
  assert.deepEqual(gradient.toArray(), [1, 2])
})

test('addGradient refuses a gradient of another shape', () => {
  const x = gpt.ones([2])
  assertRefuses(
    () => x.addGradient(gpt.ones([3])),
    'SHAPE',
    /^addGradient: gradient should have shape \[2\], got \[3\]$/,
  )
  assertRefuses(() => x.addGradient(/** @type {any} */ (1)), 'TYPE', /gradient should be a Tensor, got 1$/)
  assert.equal(x.grad, null)
})

test('onForward reaches every layer, and each of several listeners, until it is ended', () => {
  const Scale = scaleClass()
  const inner = new gpt.Sequential(new Scale(3), new gpt.ReLU())
  const layer = new gpt.Sequential(new gpt.Linear(2, 3), inner)
  const x = gpt.randn([4, 2])
  /** @type {string[]} */
  const seen = []
  const stop = layer.onForward(({ name, module, output }) => {
    seen.push(name)
    assert.equal(output.disposed, false)
    assert.equal(untyped(module).runtime, untyped(layer).runtime)
  })
  const stopInner = inner.onForward(({ name }) => seen.push(`inner ${name}`))
  const y = layer.forward(x).toArray()
  assert.deepEqual(seen, ['0', '1.0', 'inner 0', '1.1', 'inner 1', '1', 'inner ', ''])
  stop()
  stop()
  seen.length = 0
  assert.deepEqual(layer.forward(x).toArray(), y)
  assert.deepEqual(seen, ['inner 0', 'inner 1', 'inner '])
  stopInner()
  assert.equal(Object.hasOwn(inner, 'forward'), false, 'without listeners nothing is wrapped')
  assertRefuses(
    () => layer.onForward(/** @type {any} */ (undefined)),
    'TYPE',
    /^Sequential.onForward: listener should be a function, got undefined$/,
  )
})

test('a listener may end itself, and what it throws ends the forward and leaves no memory behind', () => {
  const layer = new gpt.Sequential(new gpt.Linear(2, 3), new gpt.ReLU()).eval()
  const x = gpt.randn([4, 2])
  let calls = 0
  const stop = layer.onForward(() => {
    calls++
    stop()
  })
  layer.forward(x).dispose()
  assert.equal(calls, 1)
  const end = layer.onForward(({ name }) => {
    if (name === '1') throw new Error('mine')
  })
  const address = nextAddress(gpt)
  assert.throws(() => layer.forward(x), /mine/)
  assert.equal(nextAddress(gpt), address)
  end()
  layer.forward(x)
})

test('loadStateDict may exchange tensors of the layer itself, and takes shapes exactly', () => {
  class Pair extends gpt.Module {
    first = gpt.tensor([1, 2])
    second = gpt.tensor([3, 4])
  }
  const layer = new Pair()
  layer.loadStateDict({ first: layer.second, second: layer.first })
  const values = () => [layer.first.toArray(), layer.second.toArray()]
  assert.deepEqual(values(), [
    [3, 4],
    [1, 2],
  ])
  const wrong = { first: gpt.zeros([2]), second: gpt.zeros([1]) }
  const message = /^Pair.loadStateDict: second should have shape \[2\], got \[1\]$/
  assertRefuses(() => layer.loadStateDict(wrong), 'SHAPE', message)
  assert.deepEqual(values(), [
    [3, 4],
    [1, 2],
  ])
})

test('a layer without forward or backward says so, and with which arguments it was called', () => {
  const layer = untyped(new gpt.Module())
  assertRefuses(() => layer.forward(1), 'UNSUPPORTED', /^Module.forward: not defined for 1$/)
  assertRefuses(() => layer.forward(1, {}), 'UNSUPPORTED', /^Module.forward: not defined for 1, an object$/)
  assertRefuses(() => layer.backward(1), 'UNSUPPORTED', /^Module.backward: not defined for 1$/)
})

test('a listener gets what a user’s forward returns, whatever it is', () => {
  class Any extends gpt.Module {
    /** @override @param {any} x */
    forward(x) {
      return x
    }
  }
  const layer = new Any()
  /** @type {unknown[]} */
  const outputs = []
  layer.onForward(({ output }) => outputs.push(output))
  const returned = [5, 'five', null, undefined, { other: 5 }]
  for (const value of returned) layer.forward(value)
  assert.deepEqual(outputs, returned)
})

test('FeedForward shows its layers in evaluation mode as well, with the same bits', () => {
  const layer = new gpt.FeedForward({ embDim: 6 }).eval()
  const x = gpt.randn([3, 6])
  const y = layer.forward(x).toArray()
  /** @type {string[]} */
  const seen = []
  const stop = layer.onForward(({ name }) => seen.push(name))
  assert.deepEqual(layer.forward(x).toArray(), y)
  assert.deepEqual(seen, ['layers.0', 'layers.1', 'layers.2', ''])
  stop()
})

test('containers pass the context on to the layers inside', () => {
  /** @type {unknown[]} */
  const got = []
  class Spy extends gpt.Module {
    /** @override @param {Tensor} x @param {Record<string, unknown>} [context] */
    forward(x, context) {
      got.push(context)
      return x
    }
  }
  const context = { mine: 1 }
  const x = gpt.ones([1])
  new gpt.Sequential(new Spy(), new gpt.Sequential(new Spy())).forward(x, context)
  new gpt.Sequential(new Spy()).forward(x)
  assert.deepEqual(got, [context, context, undefined])
  assert.equal(got[0], context)
})

test('returnWeights travels through Sequential and TransformerBlock to Attention, and changes no output', () => {
  const config = { embDim: 6, nHeads: 2, contextLength: 4 }
  for (const layer of [
    new gpt.TransformerBlock(config),
    new gpt.Sequential(new gpt.LayerNorm(6), new gpt.Attention(config), new gpt.ReLU()),
  ]) {
    const x = gpt.randn([4, 6])
    const expected = layer.forward(x).toArray()
    /** @type {number[][]} */
    const shapes = []
    const stop = layer.onForward(({ weights }) => weights && shapes.push([...weights.shape]))
    assert.deepEqual(layer.forward(x, { returnWeights: true }).toArray(), expected)
    assert.deepEqual(shapes, [[2, 4, 4]])
    stop()
  }
  assertRefuses(
    () => new gpt.TransformerBlock(config).forward(gpt.ones([1, 6]), { returnWeight: true }),
    'VALUE',
    /^Attention.forward: options should be among returnWeights, cache, got "returnWeight"$/,
  )
})

test('a layer inside another one is an instance of its class, but not of a class that extends it', () => {
  const block = new gpt.TransformerBlock({ embDim: 6, nHeads: 2, contextLength: 4 })
  class Mine extends gpt.LayerNorm {}
  assert.ok(block.norm1 instanceof gpt.LayerNorm && block.norm1 instanceof gpt.Module)
  assert.equal(/** @type {Module} */ (block.norm1) instanceof gpt.ReLU, false)
  assert.equal(block.norm1 instanceof Mine, false)
  assert.ok(new Mine(3) instanceof Mine && new Mine(3) instanceof gpt.LayerNorm)
})

test('a class called without new says how to call it', () => {
  const message = 'Linear: should be called with new, as new gpt.Linear(...)'
  assert.throws(() => untyped(gpt).Linear(5, 6), { code: 'TYPE', message })
  assert.throws(() => untyped(gpt).AdamW([]), { code: 'TYPE', message: /new gpt\.AdamW\(\.\.\.\)$/ })
  const { constructor } = new gpt.Linear(5, 6)
  assert.equal(constructor, gpt.Linear)
  assert.equal(constructor.name, 'Linear')
})

test('a kernel that refuses its arguments is a bug of ours: INTERNAL', () => {
  const { runtime } = untyped(new gpt.Module())
  assertRefuses(
    () => runtime.run('gpt_relu_forward', [null, gpt.ones([1]), 1]),
    'INTERNAL',
    /^gpt_relu_forward refused its arguments with status -1; please report this$/,
  )
})

test('sizes of a layer are read-only, and a kernel gets no replaced layer’s or parameter’s other size', () => {
  const config = { embDim: 6, nHeads: 2, contextLength: 4, vocabSize: 5, nLayers: 1 }
  for (const layer of [
    new gpt.Linear(6, 5),
    new gpt.Conv1D(5, 6),
    new gpt.GELU(),
    new gpt.LayerNorm(6),
    new gpt.BatchNorm(6),
    new gpt.RMSNorm(6),
    new gpt.Dropout(0.5),
    new gpt.Embedding(5, 6),
    new gpt.FeedForward({ embDim: 6 }),
    new gpt.Attention(config),
    new gpt.GPTModel(config),
  ]) {
    const fixed = Object.entries(layer).filter(([, value]) => ['number', 'string'].includes(typeof value))
    assert.ok(fixed.length > 0)
    for (const [name] of fixed) {
      assert.throws(() => (untyped(layer)[name] = 1000), /read only/, `${layer.constructor.name}.${name}`)
      assert.throws(() => Object.defineProperty(layer, name, { value: 1000 }), /redefine/)
    }
  }
  const x = gpt.randn([4, 6])
  const dy = gpt.randn([4, 6])
  const small = gpt.zeros([1])
  for (const [layer, name] of /** @type {[Module, string][]} */ ([
    [new gpt.LayerNorm(6), 'scale'],
    [new gpt.LayerNorm(6), 'shift'],
    [new gpt.BatchNorm(6), 'scale'],
    [new gpt.BatchNorm(6), 'shift'],
    [new gpt.RMSNorm(6), 'scale'],
    [new gpt.Linear(6, 6), 'weight'],
    [new gpt.Linear(6, 6), 'bias'],
    [new gpt.Conv1D(6, 6), 'bias'],
  ])) {
    layer.forward(x)
    untyped(layer)[name] = small
    assertRefuses(() => layer.backward(dy), 'SHAPE', new RegExp(`backward: ${name} should have shape`))
    assertRefuses(() => layer.forward(x), 'SHAPE', new RegExp(`forward: ${name} should have shape`))
  }
  const attention = new gpt.Attention(config)
  untyped(attention).cAttn = new gpt.Linear(6, 6)
  assertRefuses(
    () => attention.forward(x),
    'SHAPE',
    /^Attention.forward: cAttn's output should have shape \[4, 18\]/,
  )
  const embedding = new gpt.Embedding(5, 6)
  embedding.forward([1, 2])
  assertRefuses(() => embedding.saved(), 'VALUE', /./) // its indices are nobody's to change
})

test('one configuration serves a model and each of its layers, is read once, and may have undefined values', () => {
  const config = { embDim: 6, nHeads: 2, contextLength: 4, vocabSize: 5, nLayers: 1, hiddenDim: undefined }
  for (const make of [gpt.Attention, gpt.FeedForward, gpt.TransformerBlock, gpt.GPTModel]) {
    let reads = 0
    const layer = new (untyped(make))({
      ...config,
      get embDim() {
        return ++reads === 1 ? 6 : 1000
      },
    })
    assert.equal(reads, 1)
    assert.ok(layer.parameters().every((/** @type {Tensor} */ { shape }) => Math.max(...shape) < 100))
  }
})

test('a class that extends ours cannot lead a kernel elsewhere with a getter', () => {
  for (const make of [gpt.Embedding, gpt.Linear, gpt.Conv1D]) {
    class Evil extends untyped(make) {
      get weight() {
        return { byteOffset: 66000, size: 1e6, shape: [3, 3] }
      }

      set weight(_) {}
    }
    const innocent = gpt.ones([10_000])
    try {
      const layer = new (untyped(Evil))(3, 3)
      layer.forward(gpt.zeros([3]))
      assert.fail('should be refused')
    } catch (error) {
      assert.match(String(error), /weight should be a Tensor, got an object/)
    }
    assert.ok(innocent.data.every((value) => value === 1))
  }
})

test('a class that extends ours cannot hand a kernel parameters of another shape', () => {
  class Evil extends gpt.Linear {
    checkParameters() {
      return { weight: gpt.zeros([1]), bias: null }
    }

    addGradients() {
      assert.fail('nobody should call this')
    }
  }
  gpt.manualSeed(1)
  const [evil, plain] = [new Evil(6, 6), new gpt.Linear(6, 6)]
  evil.weight.data.set(plain.weight.data)
  evil.bias?.data.set(plain.bias?.data ?? [])
  const x = gpt.randn([3, 6])
  assert.deepEqual(evil.forward(x).toArray(), plain.forward(x).toArray())
  evil.backward(x)
  assert.ok(evil.weight.grad)
})
