// Which forward a backward belongs to, what a failure puts back, and what a listener may do.

/** @import { Module, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefuses, gradientOf, loadForTest, untyped, usedMemory } from './support.js'

const gpt = await loadForTest()

/** y = scale · x, as a user writes it; `failing` names the method that fails. */
class Scale extends gpt.Module {
  failing = ''

  /** @param {number} size */
  constructor(size) {
    super()
    this.scale = gpt.randn([size])
  }

  /** @override @param {Tensor} x */
  forward(x) {
    if (this.failing === 'forward') throw new Error('mine')
    this.save({ x })
    return x.mul(this.scale)
  }

  /** @override @param {Tensor} dy */
  backward(dy) {
    const { x } = this.saved()
    this.scale.addGradient(dy.mul(x).mean({ dim: 0 }).mul(x.shape[0]))
    if (this.failing === 'backward') throw new Error('mine')
    return dy.mul(this.scale)
  }
}

/** y = x + layer(x), a user's container that saves nothing. */
class Residual extends gpt.Module {
  /** @param {Module} layer */
  constructor(layer) {
    super()
    this.layer = layer
  }

  /** @override @param {Tensor} x */
  forward(x) {
    return x.add(this.layer.forward(x))
  }

  /** @override @param {Tensor} dy */
  backward(dy) {
    return dy.add(/** @type {Tensor} */ (this.layer.backward(dy)))
  }
}

const SIZE = 6
const config = { embDim: SIZE, nHeads: 2, contextLength: 4, dropRate: 0.5 }
const x = gpt.randn([4, SIZE])
const other = gpt.randn([4, SIZE])
const dy = gpt.randn([4, SIZE])

/** @type {Record<string, (inner: Module) => Module>} a container with a layer inside */
const containers = {
  Sequential: (inner) => new gpt.Sequential(new gpt.Linear(SIZE, SIZE), inner, new gpt.LayerNorm(SIZE)),
  'Sequential in Sequential': (inner) =>
    new gpt.Sequential(new gpt.ReLU(), new gpt.Sequential(new gpt.Linear(SIZE, SIZE), inner), new gpt.ReLU()),
  'a user’s container': (inner) =>
    new gpt.Sequential(new gpt.Linear(SIZE, SIZE), new Residual(inner), new gpt.ReLU()),
  FeedForward: (inner) =>
    Object.assign(
      new gpt.FeedForward({ embDim: SIZE, hiddenDim: SIZE }),
      untyped({ layers: [new gpt.Linear(SIZE, SIZE), inner, new gpt.Linear(SIZE, SIZE)] }),
    ),
  TransformerBlock: (inner) => Object.assign(new gpt.TransformerBlock(config), { norm2: inner }),
}

/** @param {Module} model @returns {(number[] | null)[]} */
const gradients = (model) => model.parameters().map(({ grad }) => grad && [...grad.data])

for (const [name, make] of Object.entries(containers)) {
  test(`${name}: no backward follows a forward that failed`, () => {
    const inner = new Scale(SIZE)
    const model = make(inner)
    model.forward(x)
    inner.failing = 'forward'
    assert.throws(() => model.forward(other), /mine/)
    inner.failing = ''
    assertRefuses(
      () => model.backward(dy),
      'VALUE',
      /backward: should follow a forward in training mode; got none/,
    )
    assertRefuses(() => inner.backward(dy), 'VALUE', /^Scale.backward: should follow a forward/)
    assert.ok(gradients(model).every((grad) => grad === null))
    model.forward(x)
    model.backward(dy)
  })

  test(`${name}: a layer inside that has another forward since is refused, and no gradient changes`, () => {
    const inner = new Scale(SIZE)
    const model = make(inner)
    model.forward(x)
    inner.forward(other)
    assertRefuses(
      () => model.backward(dy),
      'VALUE',
      /^Scale.backward: should follow the forward that \w+ called, got another since$/,
    )
    assert.ok(gradients(model).every((grad) => grad === null))
    model.forward(x)
    model.backward(dy)
    assert.ok(gradients(model).every((grad) => grad !== null))
  })

  test(`${name}: a forward of the model or of a layer inside, in a listener, is never mixed in`, () => {
    for (const again of /** @type {const} */ (['model', 'inner'])) {
      const inner = new Scale(SIZE)
      const model = make(inner)
      let calls = 0
      const stop = inner.onForward(() => {
        if (calls++ === 0) ({ model, inner })[again].forward(other)
      })
      model.forward(x)
      stop()
      assertRefuses(() => model.backward(dy), 'VALUE', /backward: should follow/)
      assert.ok(gradients(model).every((grad) => grad === null))
    }
  })

  test(`${name}: a backward that fails changes no gradient, and frees what it kept`, () => {
    const inner = new Scale(SIZE)
    const model = make(inner)
    model.forward(x).dispose()
    untyped(model.backward(dy)).dispose()
    const before = gradients(model)
    model.eval().train()
    const used = usedMemory(model)
    gpt.scope(() => {
      model.forward(x)
      inner.failing = 'backward'
      assert.throws(() => model.backward(dy), /mine/)
      assert.deepEqual(gradients(model), before)
      assertRefuses(() => model.backward(dy), 'VALUE', /backward: should follow a forward/)
    })
    assert.equal(usedMemory(model), used)
  })
}

test('a backward that fails before it has used anything can be repeated', () => {
  const model = new gpt.Sequential(new gpt.ReLU(), new gpt.Linear(SIZE, SIZE))
  model.forward(x)
  assertRefuses(() => model.backward(gpt.ones([1, SIZE])), 'SHAPE', /^Linear.backward: dy should have shape/)
  model.backward(dy)
})

test('a layer used twice in one model is refused in backward, and no gradient changes', () => {
  const twice = new gpt.Linear(SIZE, SIZE)
  const model = new gpt.Sequential(twice, new gpt.ReLU(), twice)
  model.forward(x)
  assertRefuses(() => model.backward(dy), 'VALUE', /^Linear.backward: should follow a forward/)
  assert.deepEqual(gradients(model), [null, null])
})

test('a layer that two models share belongs to the model whose forward came last', () => {
  const shared = new gpt.Linear(SIZE, SIZE)
  const models = [new gpt.Sequential(shared, new gpt.ReLU()), new gpt.Sequential(shared, new gpt.GELU())]
  for (const model of models) model.forward(x)
  assertRefuses(
    () => models[0].backward(dy),
    'VALUE',
    /^Linear.backward: should follow the forward that Sequential/,
  )
  models[1].backward(dy)
})

test('layers of a model may go backward one by one, by hand', () => {
  const [first, second] = [new gpt.Linear(SIZE, SIZE), new gpt.GELU()]
  const model = new gpt.Sequential(first, second)
  model.forward(x)
  const expected = untyped(model.backward(dy)).toArray()
  const grads = gradients(model)
  model.zeroGrad()
  model.forward(x)
  assert.deepEqual(untyped(first.backward(second.backward(dy))).toArray(), expected)
  assert.deepEqual(gradients(model), grads)
  assertRefuses(() => model.backward(dy), 'VALUE', /backward: should follow/)
})

test('a layer may run the forward of a layer inside within its backward, to save memory', () => {
  class Checkpoint extends gpt.Module {
    /** @param {Module} layer */
    constructor(layer) {
      super()
      this.layer = layer
    }

    /** @override @param {Tensor} x */
    forward(x) {
      this.save({ x })
      this.layer.eval()
      return this.layer.forward(x)
    }

    /** @override @param {Tensor} dy */
    backward(dy) {
      this.layer.train().forward(this.saved().x)
      return this.layer.backward(dy)
    }
  }
  const inner = new gpt.Sequential(new gpt.Linear(SIZE, SIZE), new gpt.GELU())
  inner.forward(x)
  const expected = untyped(inner.backward(dy)).toArray()
  const model = new gpt.Sequential(new Checkpoint(inner))
  model.forward(x)
  assert.deepEqual(untyped(model.backward(dy)).toArray(), expected)
})

test('a layer that extends another one shares its forward, and what it saves', () => {
  class Doubled extends gpt.Linear {
    /** @override @param {Tensor} x */
    forward(x) {
      const y = super.forward(x)
      this.save({ y })
      return y.mul(2)
    }

    /** @override @param {Tensor} dy */
    backward(dy) {
      assert.deepEqual(Object.keys(this.saved()), ['x', 'y'])
      return super.backward(dy.mul(2))
    }
  }
  const layer = new Doubled(SIZE, SIZE)
  assert.deepEqual(layer.forward(x).shape, [4, SIZE])
  layer.backward(dy)
  class Replacing extends gpt.Linear {
    /** @override @param {Tensor} x */
    forward(x) {
      const y = super.forward(x)
      this.save({ x: y })
      return y
    }
  }
  assertRefuses(
    () => new Replacing(SIZE, SIZE).forward(x),
    'VALUE',
    /^Replacing.save: should get new names in one forward, got "x"$/,
  )
})

test('saved tensors outlive the scope and the originals, until backward or the next forward', () => {
  const layer = new Scale(2)
  const used = usedMemory(layer)
  const forward = () =>
    gpt.scope(() => {
      const x = gpt.tensor([[1, 2]])
      layer.forward(x)
      x.dispose()
    })
  forward()
  const first = layer.saved().x
  forward()
  assert.equal(first.disposed, true)
  const second = layer.saved().x
  assert.deepEqual(second.toArray(), [[1, 2]])
  gpt.scope(() => {
    layer.backward(gpt.ones([1, 2]))
  })
  assert.equal(second.disposed, true)
  assertRefuses(
    () => layer.saved(),
    'VALUE',
    /^Scale.backward: should follow a forward in training mode; got none/,
  )
  forward()
  layer.release()
  layer.release()
  layer.zeroGrad()
  assert.equal(usedMemory(layer), used)
  assertRefuses(() => layer.backward(dy), 'VALUE', /should follow a forward/)
  layer.eval().forward(gpt.ones([1, 2]))
  assertRefuses(
    () => layer.saved('Mine.backward'),
    'VALUE',
    /^Mine.backward: .* the layer is in evaluation mode$/,
  )
})

test('save takes live tensors, within forward; a property that every object has does not disturb it', () => {
  const layer = new Scale(2)
  assertRefuses(() => layer.save({ x }), 'VALUE', /^Scale.save: should be called in the forward/)
  assertRefuses(() => layer.save(untyped(3)), 'TYPE', /^save: tensors should be an object, got 3$/)
  assertRefuses(() => layer.forward(untyped([1])), 'TYPE', /^save: x should be a Tensor, got \[1\]$/)
  const everyObject = untyped(Object.prototype)
  everyObject.foo = 1
  try {
    const model = new gpt.TransformerBlock(config)
    model.forward(x)
    model.backward(dy)
  } finally {
    delete everyObject.foo
  }
})

test('only a layer itself saves in its forward, and what it releases there it may save again', () => {
  class Outer extends gpt.Module {
    inner = new Scale(SIZE)
    strict = true

    /** @override @param {Tensor} x */
    forward(x) {
      if (this.strict) this.inner.save({ x })
      this.save({ x: x.clone() })
      this.release()
      this.save({ x })
      return x
    }
  }
  const layer = new Outer()
  assertRefuses(() => layer.forward(x), 'VALUE', /^Scale.save: should be called in the forward/)
  layer.strict = false
  layer.forward(x)
  assert.deepEqual(layer.saved().x.toArray(), x.toArray())
})

test('what a program does to the record of saved tensors does not change backward', () => {
  const layer = new Scale(SIZE)
  layer.forward(x)
  layer.saved().x = other
  layer.backward(dy)
  const twin = new Scale(SIZE)
  twin.forward(x)
  twin.backward(dy)
  assert.deepEqual(gradientOf(layer.scale).toArray(), gradientOf(twin.scale).toArray())
})

test('eval and dispose free what forward kept; train does not', () => {
  const relu = new gpt.ReLU()
  const before = usedMemory(relu)
  const layer = new Scale(SIZE)
  const used = usedMemory(relu)
  const forward = () => gpt.scope(() => void layer.forward(gpt.ones([3, SIZE])))
  forward()
  assert.deepEqual(layer.train().saved().x.shape, [3, SIZE])
  layer.eval()
  assert.equal(usedMemory(relu), used)
  assertRefuses(() => layer.train().backward(dy), 'VALUE', /got none since the last backward, eval\(\)/)
  forward()
  layer[Symbol.dispose]()
  assert.equal(usedMemory(relu), before)
})

test('in evaluation mode save does nothing: it holds no memory, and may be called anywhere', () => {
  const layer = new Scale(2).eval()
  layer.save({ x })
  const used = usedMemory(layer)
  gpt.scope(() => void layer.forward(gpt.ones([3, 2])))
  assert.equal(usedMemory(layer), used)
})

test('whichever allocation of a step fails, gradients, statistics and the generator stay', async () => {
  const small = await loadForTest()
  const layers = [new small.BatchNorm(SIZE), new small.Dropout(0.5), new small.TransformerBlock(config)]
  const model = new small.Sequential(...layers, new small.Linear(SIZE, SIZE))
  const memory = untyped(model).runtime.memory
  const input = small.randn([4, SIZE])
  const gradient = small.randn([4, SIZE])
  const step = () =>
    small.scope(() => {
      model.forward(input)
      model.backward(gradient)
    })
  step()
  model.zeroGrad()
  const draw = () => small.scope(() => small.randn([20]).toArray())
  const { allocate } = memory
  /** @param {(step: 'forward' | 'backward', fn: () => unknown) => void} run */
  const phases = (run) =>
    small.scope(() => {
      run('forward', () => model.forward(input))
      run('backward', () => model.backward(gradient))
    })
  for (const phase of ['forward', 'backward']) {
    let failures = 0
    for (let at = 1, failed = true; failed; at++) {
      small.manualSeed(5)
      failed = false
      const used = memory.used
      const state = model.saveSafetensors()
      phases((name, fn) => {
        if (failed) return
        if (name !== phase) return fn()
        const before = model.saveSafetensors()
        let count = 0
        memory.allocate = (/** @type {[string, number]} */ ...args) => {
          if (++count === at) throw new Error('no memory')
          return allocate.apply(memory, args)
        }
        try {
          fn()
        } catch (error) {
          assert.match(String(error), /no memory/)
          failed = true
          failures++
          assert.deepEqual(model.saveSafetensors(), before)
        } finally {
          memory.allocate = allocate
        }
      })
      if (failed) assert.ok(gradients(model).every((grad) => grad === null))
      if (failed && phase === 'forward') {
        const drawn = draw()
        small.manualSeed(5)
        assert.deepEqual(draw(), drawn)
        assert.deepEqual(model.saveSafetensors(), state)
      }
      model.zeroGrad()
      model.eval().train()
      assert.equal(memory.used, used)
    }
    assert.ok(failures > 20, `${failures} failures of ${phase}`)
  }
  small.dispose()
})

test('tied weights get the gradients of both places, also within one backward', () => {
  const [a, b] = [new gpt.Linear(SIZE, SIZE), new gpt.Linear(SIZE, SIZE)]
  b.weight.data.set(a.weight.data)
  const separate = new gpt.Sequential(a, new gpt.GELU(), b)
  separate.forward(x)
  separate.backward(dy)
  const expected = gpt.scope(() => [...gradientOf(b.weight).add(gradientOf(a.weight)).data])
  b.weight.dispose()
  b.weight = a.weight
  separate.zeroGrad()
  separate.forward(x)
  separate.backward(dy)
  assert.deepEqual([...gradientOf(a.weight).data], expected)
})

test('a clone that a listener makes outlives the forward, and belongs to the scope of its caller', () => {
  const model = new gpt.GPTModel({ ...config, vocabSize: 5, nLayers: 2, embDim: SIZE })
  for (const mode of [model.train(), model.eval()]) {
    /** @type {Tensor[]} */
    const clones = []
    const stop = mode.onForward(({ output, weights }) => {
      assert.equal(output.disposed, false)
      clones.push(output.clone())
      if (weights) {
        assert.equal(weights.disposed, false)
        clones.push(gpt.scope(() => weights.mul(1)))
      }
    })
    mode.forward([[0, 1, 2]], { returnWeights: true })
    assert.ok(clones.length > 20)
    assert.ok(clones.every((clone) => !clone.disposed && Number.isFinite(clone.data[0])))
    clones.length = 0
    gpt.scope(() => {
      mode.forward([[0, 1, 2]], { returnWeights: true })
      assert.ok(clones.every((clone) => !clone.disposed))
    })
    assert.ok(clones.every((clone) => clone.disposed))
    stop()
  }
})

test('a listener that adds itself or another one is heard from the next forward on', () => {
  const layer = new gpt.ReLU()
  let calls = 0
  const listener = () => {
    calls++
    layer.onForward(listener)
  }
  const stop = layer.onForward(listener)
  layer.forward(x)
  assert.equal(calls, 1)
  layer.forward(x)
  assert.equal(calls, 3)
  stop()
  stop()
})

test('a Proxy of a layer, or of a tensor in a layer, is refused with the remedy', () => {
  const layer = new gpt.Linear(SIZE, SIZE)
  const proxy = new Proxy(layer, {})
  for (const use of [
    () => proxy.forward(x),
    () => proxy.backward(dy),
    () => proxy.parameters(),
    () => proxy.train(),
    () => proxy.save({ x }),
    () => proxy.onForward(() => {}),
    () => proxy.dispose(),
    () => new gpt.Sequential(proxy).forward(x),
    () => new Residual(proxy).stateDict(),
  ]) {
    assertRefuses(
      use,
      'TYPE',
      /Linear: the layer should be used itself, got a Proxy of it; in Vue use markRaw/,
    )
  }
  layer.weight = new Proxy(layer.weight, {})
  assertRefuses(
    () => layer.parameters(),
    'TYPE',
    /^Linear: weight should be a Tensor, got a Proxy of one; in Vue/,
  )
})

test('a layer that contains itself is refused at once', () => {
  const layer = new Residual(new gpt.ReLU())
  layer.layer = new Residual(layer)
  for (const use of [() => layer.parameters(), () => layer.eval(), () => layer.saveSafetensors()]) {
    assertRefuses(use, 'VALUE', /^Residual: a layer should not contain itself, got itself at layer.layer$/)
  }
})
