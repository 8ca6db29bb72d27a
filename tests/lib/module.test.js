// What gpt.Module offers a layer of the user's own: parameters, buffers, gradients, hooks, context.

/** @import { Context, Module, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Memory } from '../../build/lib/runtime/memory.js'
import { begin, run } from '../../build/lib/runtime/runtime.js'
import { gradcheck } from '../gradcheck.js'
import { assertRefuses, gradientOf, loadForTest, untyped, usedMemory } from './support.js'

const gpt = await loadForTest()
const config = { vocabSize: 5, embDim: 6, nHeads: 2, contextLength: 4, nLayers: 2 }

/** y = scale · x, with a buffer that counts the calls: a layer as a user writes it. */
class Scale extends gpt.Module {
  /** @param {number} size */
  constructor(size) {
    super()
    this.scale = gpt.parameter(gpt.randn([size]))
    this.callCount = gpt.zeros([])
  }

  /** @override @param {Tensor} x */
  forward(x) {
    this.callCount.data[0]++
    return x.mul(this.scale)
  }
}

test('a user’s layer has gradients, alone and within Sequential, and works in a scope', () => {
  gpt.manualSeed(3)
  const x = gpt.randn([4, 5])
  const layer = new gpt.Sequential(new gpt.Linear(5, 6), new Scale(6), new gpt.Linear(6, 3))
  for (const one of [new Scale(5), layer]) {
    const input = gpt.parameter(x)
    gradcheck(gpt, () => one.forward(input), [input, ...one.parameters()])
  }
  const step = () =>
    gpt.scope(() => {
      const y = layer.forward(x)
      y.backward(y)
    })
  step()
  const used = usedMemory(gpt)
  step()
  assert.equal(usedMemory(gpt), used, 'a step leaves nothing behind')
  assert.equal(
    layer.parameters().every(({ grad }) => grad !== null && !grad.disposed),
    true,
  )
})

test('a buffer is in the state dict, in files and in dispose, but is no parameter', () => {
  const layer = new Scale(2)
  assert.deepEqual(
    layer.namedParameters().map(([name]) => name),
    ['scale'],
  )
  assert.deepEqual(Object.keys(layer.stateDict()), ['scale', 'call_count'])
  const { call_count: count } = layer.stateDict()
  count.data[0] = 7
  const other = new Scale(2)
  other.loadStateDict(gpt.loadSafetensors(gpt.saveSafetensors(layer, { names: 'ours' })))
  assert.equal(other.stateDict().call_count.item(), 7)
  layer.dispose()
  assert.deepEqual([layer.scale.disposed, layer.callCount.disposed], [true, true])
})

test('an array of tensors has parameters and buffers, as PyTorch’s ParameterList, and a scope keeps them', () => {
  class Scales extends gpt.Module {
    scales = [gpt.parameter(gpt.ones([2])), gpt.zeros([2])]
  }
  const layer = gpt.scope(() => new Scales())
  assert.deepEqual(Object.keys(layer.stateDict()), ['scales.0', 'scales.1'])
  assert.deepEqual(
    layer.namedParameters().map(([name]) => name),
    ['scales.0'],
  )
  assert.deepEqual(
    layer.scales.flatMap(({ data }) => [...data]),
    [1, 1, 0, 0],
  )
  const other = new Scales()
  layer.scales[1].data[0] = 7
  other.loadStateDict(gpt.loadSafetensors(gpt.saveSafetensors(layer, { names: 'ours' })))
  assert.equal(other.scales[1].data[0], 7)
  layer.dispose()
  assert.ok(layer.scales.every(({ disposed }) => disposed))
})

test('onForward reaches every layer, and each of several listeners, until it is ended', () => {
  const inner = new gpt.Sequential(new Scale(3), new gpt.ReLU())
  const layer = new gpt.Sequential(new gpt.Linear(2, 3), inner)
  const x = gpt.randn([4, 2])
  /** @type {string[]} */
  const seen = []
  const stop = layer.onForward(({ name, output }) => {
    seen.push(name)
    assert.equal(output.disposed, false)
  })
  const stopInner = inner.onForward(({ name }) => void seen.push(`inner ${name}`))
  const y = layer.forward(x).toArray()
  assert.deepEqual(seen, ['0', '1.0', 'inner 0', '1.1', 'inner 1', '1', 'inner ', ''])
  stop()
  stop()
  seen.length = 0
  assert.deepEqual(layer.forward(x).toArray(), y)
  assert.deepEqual(seen, ['inner 0', 'inner 1', 'inner '])
  stopInner()
  assert.equal(Object.hasOwn(inner, 'forward'), false, 'without listeners nothing is wrapped')
  const own = (/** @type {import('gpt-layers').Tensor} */ input) => input
  inner.forward = own
  stopInner()
  inner.onForward(() => {})()
  assert.equal(inner.forward, own, 'a forward of the layer itself is put back, and stays')
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
  const used = usedMemory(gpt)
  assert.throws(() => layer.forward(x), /mine/)
  assert.equal(usedMemory(gpt), used)
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
  const values = () => [...layer.first.data, ...layer.second.data]
  assert.deepEqual(values(), [3, 4, 1, 2])
  const wrong = { first: gpt.zeros([2]), second: gpt.zeros([1]) }
  const message = 'Pair.loadStateDict: second should have shape [2], got [1]'
  assertRefuses(() => layer.loadStateDict(wrong), 'SHAPE', message)
  assert.deepEqual(values(), [3, 4, 1, 2])
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
  layer.onForward(({ output }) => void outputs.push(output))
  const returned = [5, 'five', null, undefined, { other: 5 }]
  for (const value of returned) layer.forward(value)
  assert.deepEqual(outputs, returned)
})

test('train(false) sets evaluation mode, train() and train(true) training mode, in all layers', () => {
  const dropout = new gpt.Dropout(0.5)
  const model = new gpt.Sequential(new gpt.Sequential(dropout))
  assert.equal(model.train(false), model)
  assert.deepEqual([model.training, dropout.training], [false, false])
  assert.deepEqual(model.forward(gpt.ones([99])).toArray(), Array(99).fill(1))
  assert.deepEqual([model.train(true).training, dropout.training], [true, true])
  assert.deepEqual([model.eval().train().training, dropout.training], [true, true])
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

test('a layer that does not read the context may get it, also from a layer of your own', () => {
  class Loud extends gpt.Linear {
    /** @override @param {Tensor} x @param {Record<string, unknown>} [context] */
    forward(x, context) {
      return untyped(gpt.Linear.prototype.forward).call(this, x, context)
    }
  }
  const x = gpt.ones([1, 4])
  const block = new gpt.TransformerBlock({ embDim: 4, nHeads: 2, contextLength: 3 })
  block.attn = untyped(new gpt.Identity())
  const stop = block.onForward(() => {})
  new gpt.Sequential(block, new gpt.Linear(4, 4), new Loud(4, 4)).forward(x, { mine: 1 })
  stop()
  assert.deepEqual(new Loud(4, 4).forward(x, { mine: 1 }).shape, [1, 4])
})

test('an option of a layer of one’s own passes the Attention beside it', () => {
  /** @type {unknown[]} */
  const got = []
  class Own extends gpt.TransformerBlock {
    /** @override @param {Tensor} x @param {Record<string, unknown>} [context] */
    forward(x, context) {
      got.push(context?.mine)
      return super.forward(x, context)
    }
  }
  const model = new gpt.GPTModel(config).eval()
  const logits = (/** @type {Context} */ options) => model.forward([1, 2], options).toArray()
  const [all, last] = [logits({}), logits({ lastOnly: true })]
  const cached = logits({ cache: model.newCache() })
  const message = 'context should have options among returnWeights, cache, lastOnly, got "mine"'
  const forward = () => model.forward([1, 2], { mine: 1 })
  assertRefuses(forward, 'VALUE', `GPTModel.forward: ${message}`)
  const stop = model.onForward(() => {})
  assertRefuses(forward, 'VALUE', `GPTModel.forward: ${message}`)
  stop()
  const own = new Own(config).eval()
  own.loadStateDict(model.trfBlocks[1].stateDict())
  model.trfBlocks[1] = own
  assert.deepEqual(logits({ mine: 1 }), all)
  assert.deepEqual(logits({ mine: 2, lastOnly: true }), last)
  assert.deepEqual(logits({ mine: 3, cache: model.newCache(), returnWeights: undefined }), cached)
  const [attention, x, context] = [new gpt.Attention(config), gpt.ones([2, 6]), { mine: 4, lastOnly: false }]
  new gpt.Sequential(own, attention).forward(x, context)
  assert.deepEqual(got, [1, 2, 3, 4])
  // Alone it refuses the same context.
  assertRefuses(() => attention.forward(x, context), 'VALUE', `Attention.forward: ${message}`)
})

test('the class of a layer is the export, whose name a minifier cannot change', () => {
  const { constructor } = new gpt.Linear(5, 6)
  assert.equal(constructor, gpt.Linear)
  assert.equal(constructor.name, 'Linear')
})

test('a kernel that refuses its arguments is a bug of ours: INTERNAL', () => {
  const { exports } = gpt
  const memory = new Memory(exports.memory, exports.__heap_base.value, 2 ** 32)
  begin({ exports, build: 'simd', int8Kernel: 'int16', memory, pool: 'a test' })
  const message = 'gpt_relu_forward refused its arguments with status -1; please report this'
  assert.throws(() => run('gpt_relu_forward', [null, gpt.ones([1]), 1]), { code: 'INTERNAL', message })
})

test('one configuration serves a model and each of its layers, and may have undefined values', () => {
  for (const make of [gpt.Attention, gpt.FeedForward, gpt.TransformerBlock, gpt.GPTModel]) {
    const layer = new (untyped(make))({ ...config, hiddenDim: undefined })
    assert.ok(layer.parameters().every((/** @type {Tensor} */ { shape }) => Math.max(...shape) < 100))
  }
})

test('a configuration without biases makes a model without any, and layerNormEpsilon is the norms’ eps', () => {
  const model = new gpt.GPTModel({ ...config, bias: false, layerNormEpsilon: 0.5 }).eval()
  const names = Object.keys(model.stateDict())
  assert.deepEqual(
    names.filter((name) => /bias|shift/.test(name)),
    [],
  )
  assert.equal(names.length, 2 + 2 * 6 + 1 + 1)
  const norm = /** @type {import('gpt-layers').LayerNorm} */ (model.finalNorm)
  assert.equal(norm.eps, 0.5)
  const whole = new gpt.GPTModel({ ...config, layerNormEpsilon: 0.5 }).eval()
  const zeros = Object.entries(whole.stateDict()).map(([name, { shape }]) => [name, gpt.zeros(shape)])
  whole.loadStateDict({ ...Object.fromEntries(zeros), ...model.stateDict() })
  assert.deepEqual(model.forward([1, 2, 3]).toArray(), whole.forward([1, 2, 3]).toArray())
  assert.equal(new gpt.Attention({ ...config, bias: false, qkvBias: true }).cAttn.bias?.size, 18)
})

test('a clone that a listener makes outlives the forward, and belongs to the scope of its caller', () => {
  const model = new gpt.GPTModel(config)
  const forward = () => model.forward([[0, 1, 2]], { returnWeights: true })
  for (const run of [forward, () => gpt.noGrad(forward)]) {
    /** @type {Tensor[]} */
    const clones = []
    const stop = model.onForward(({ output, weights }) => {
      clones.push(output.clone())
      if (weights) clones.push(gpt.scope(() => weights.mul(1)))
    })
    run()
    assert.ok(clones.length > 20)
    assert.ok(clones.every((clone) => !clone.disposed && Number.isFinite(clone.data[0])))
    clones.length = 0
    gpt.scope(() => {
      run()
      assert.ok(clones.every((clone) => !clone.disposed))
    })
    assert.ok(clones.every((clone) => clone.disposed))
    stop()
  }
})

test('a listener that adds another one is heard from the next forward on', () => {
  const layer = new gpt.ReLU()
  const x = gpt.ones([1])
  let calls = 0
  const listener = () => {
    calls++
    layer.onForward(listener)
  }
  layer.onForward(listener)
  layer.forward(x)
  assert.equal(calls, 1)
  layer.forward(x)
  assert.equal(calls, 3)
})

test('a model prints as the tree that PyTorch prints', () => {
  // PyTorch: print(nn.Sequential(nn.Linear(5, 6), nn.ReLU()))
  const text = `Sequential(
  (0): Linear(in_features=5, out_features=6, bias=True)
  (1): ReLU()
)`
  const layer = new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU())
  assert.equal(String(layer), text)
  assert.equal(inspect({ layer }), `{\n  layer: ${text.replaceAll('\n', '\n  ')}\n}`)
  assert.equal(String(new gpt.Sequential()), 'Sequential()')
  const config = { vocabSize: 10, contextLength: 4, embDim: 8, nHeads: 2, nLayers: 3, dropRate: 0.1 }
  const model = new gpt.GPTModel({ ...config, tieWeights: true })
  model.trfBlocks[2].norm1 = new gpt.RMSNorm(8, { eps: 0.5 })
  const block = (norm = '') => `TransformerBlock(
      (attn): Attention(
        (c_attn): Conv1D(nf=24, nx=8)
        (c_proj): Conv1D(nf=8, nx=8)
        (resid_dropout): Dropout(p=0.1)
      )
      (ff): FeedForward(
        (layers): ModuleList(
          (0): Linear(in_features=8, out_features=32, bias=True)
          (1): GELU(approximate='tanh')
          (2): Linear(in_features=32, out_features=8, bias=True)
        )
      )
      (norm1): ${norm}
      (norm2): LayerNorm(8, eps=1e-05)
      (dropout): Dropout(p=0.1)
    )`
  assert.equal(
    String(model),
    `GPTModel(
  (tok_emb): Embedding(10, 8)
  (pos_emb): Embedding(4, 8)
  (drop_emb): Dropout(p=0.1)
  (trf_blocks): ModuleList(
    (0-1): 2 x ${block('LayerNorm(8, eps=1e-05)')}
    (2): ${block('RMSNorm(8, eps=0.5)')}
  )
  (final_norm): LayerNorm(8, eps=1e-05)
  (out_head): Linear(in_features=8, out_features=10, bias=False)
)`,
  )
  assert.equal(String(new gpt.BatchNorm(5)), 'BatchNorm(5, eps=1e-05, momentum=0.1)')
  assert.equal(String(new gpt.Softmax()), 'Softmax(dim=-1)')
  assert.equal(inspect(new gpt.SGD(model.parameters(), { lr: 0.1 })), 'SGD(39 parameters, lr=0.1)')
})

test('a layer of the user’s own prints its class, what extraRepr says, and the layers inside', () => {
  class Residual extends gpt.Module {
    layer = new gpt.Identity()

    /** @override */
    extraRepr() {
      return 'scale=2'
    }
  }
  assert.equal(String(new Residual()), 'Residual(\n  scale=2\n  (layer): Identity()\n)')
})

test('a layer with a part of a wrong kind keeps the rest: its gradients, its state dict, its memory', () => {
  const block = new gpt.TransformerBlock(config)
  block.attn = untyped(null)
  block.eval().zeroGrad()
  const tensors = Object.values(block.stateDict())
  assert.equal(tensors.length, 8)
  assert.ok(tensors.every((tensor) => !tensor.disposed))
  block.dispose()
  assert.ok(tensors.every((tensor) => tensor.disposed))
})

test('what a layer of one’s own keeps in a property outlives the forward of the layers around it, and a scope', () => {
  class Running extends gpt.Module {
    mean = gpt.zeros([2])
    /** @type {Tensor | null} */
    scale = null
    /** @override @param {Tensor} x */
    forward(x) {
      this.scale ??= gpt.parameter(gpt.ones([2]))
      this.mean = this.mean.mul(0.5).add(x.mean({ dim: 0 }).mul(0.5))
      return x.mul(this.scale)
    }
  }
  const running = new Running()
  const layer = new gpt.Sequential(new gpt.Sequential(running), new gpt.ReLU())
  const x = gpt.tensor([[2, 4]])
  gpt.noGrad(() => layer.forward(x))
  gpt.noGrad(() => layer.forward(x))
  assert.deepEqual(running.mean.toArray(), [1.5, 3])
  gpt
    .scope(() => layer.forward(x))
    .sum()
    .backward()
  assert.deepEqual(running.mean.toArray(), [1.75, 3.5])
  assert.deepEqual(gradientOf(/** @type {any} */ (running.scale)).toArray(), [2, 4])
  assert.deepEqual(layer.parameters(), [running.scale])
})

test('objects, arrays, maps and sets keep tensors, in a layer and in a scope’s result, alone or inside another', () => {
  class Keeping extends gpt.Module {
    /** @type {Record<string, any>} */
    kept = {}
    /** @override @param {Tensor} x */
    forward(x) {
      const keys = [1, 2, 3, 4, 5, 6].map((k) => x.mul(k))
      this.kept = Object.assign(Object.create(null), { key: keys[0], deep: [{ key: keys[1] }] })
      this.lists = [[keys[2]]]
      this.map = new Map([[keys[5], keys[3]]])
      this.set = new Set([keys[4]])
      this.pending = Promise.resolve(x.mul(7))
      return x.mul(2)
    }
  }
  const valuesOf = (/** @type {Partial<Keeping>} */ { kept, lists, map, set }) => {
    const [[key, value]] = map ?? []
    const tensors = [kept?.key, kept?.deep[0].key, lists?.[0][0], value, ...(set ?? []), key]
    return tensors.map((tensor) => tensor.item())
  }
  const made = () => {
    const layer = new Keeping()
    layer.forward(x)
    return layer
  }
  const x = gpt.parameter(gpt.tensor([2]))
  /** @type {((layer: Module) => unknown)[]} */
  const calls = [
    (layer) => layer.forward(x),
    (layer) => new gpt.Sequential(layer, new gpt.ReLU()).forward(x),
    (layer) => gpt.noGrad(() => new gpt.Sequential(new gpt.Sequential(layer)).forward(x)),
    (layer) => gpt.scope(() => layer.forward(x)),
    (layer) => gpt.scope(() => gpt.scope(() => void new gpt.Sequential(layer).forward(x))),
  ]
  for (const call of calls) {
    const layer = new Keeping()
    call(layer)
    assert.deepEqual(valuesOf(layer), [2, 4, 6, 8, 10, 12], String(call))
  }
  const [layer, containers] = gpt.scope(() => {
    const { kept, lists, map, set } = made()
    return [made(), { kept, lists, map, set }]
  })
  assert.deepEqual(valuesOf(layer), [2, 4, 6, 8, 10, 12])
  assert.deepEqual(valuesOf(containers), [2, 4, 6, 8, 10, 12])
})

test('a scope frees what it made that a layer no longer keeps', () => {
  class Last extends gpt.Module {
    /** @type {Tensor | null} */
    last = null
    /** @override @param {Tensor} x */
    forward(x) {
      this.last = x.mul(2)
      return x
    }
  }
  const layer = new Last()
  const x = gpt.ones([1000])
  gpt.scope(() => void layer.forward(x))
  const before = usedMemory(gpt)
  const { last } = layer
  gpt.scope(() => void [layer.forward(x), layer.forward(x), (layer.last = last)])
  assert.equal(usedMemory(gpt), before)
})

test('a scope frees the layers of one’s own that it made and does not return, and keeps the others', () => {
  class Inner extends gpt.Module {
    weight = gpt.parameter(gpt.ones([1000]))
    /** @override @param {Tensor} x */
    forward(x) {
      return x.mul(this.weight)
    }
  }
  class Outer extends gpt.Module {
    inner = new Inner()
    /** @override @param {Tensor} x */
    forward(x) {
      this.last = new Inner()
      return this.last.forward(this.inner.forward(x))
    }
  }
  const x = gpt.ones([1000])
  const before = usedMemory(gpt)
  for (let i = 0; i < 3; i++) gpt.scope(() => void new gpt.Sequential(new Outer()).forward(x))
  assert.equal(usedMemory(gpt), before)
  const outer = gpt.scope(() => [new Outer()])[0]
  gpt.scope(() => void outer.forward(x))
  assert.deepEqual(
    [outer.inner, outer.last].map((layer) => layer?.weight.disposed),
    [false, false],
  )
  assert.deepEqual(outer.forward(x).toArray(), x.toArray())
})

test('modules, children, parameters and buffers come in PyTorch’s order, each once, under its first name', () => {
  class Block extends gpt.Module {
    constructor() {
      super()
      this.mask = gpt.ones([2, 2]).tril()
      this.W_query = new gpt.Linear(2, 2, { bias: false })
      this.layers = new gpt.ModuleList([new gpt.Linear(2, 3), new gpt.Sequential(new gpt.BatchNorm(3))])
      this.again = this.W_query
      this.heads = [new gpt.ReLU(), new gpt.SiLU()]
      this.ownScale = gpt.parameter(gpt.ones([1]))
      this.sameMask = this.mask
    }
  }
  const block = new Block()
  const { W_query: query, layers, heads } = block
  const [linear, sequential] = layers
  const namesOf = (/** @type {[string, unknown][]} */ named) => named.map(([name]) => name)
  assert.deepEqual(block.namedModules(), [
    ['', block],
    ['W_query', query],
    ['layers', layers],
    ['layers.0', linear],
    ['layers.1', sequential],
    ['layers.1.0', untyped(sequential).layers[0]],
    ['heads.0', heads[0]],
    ['heads.1', heads[1]],
  ])
  assert.deepEqual(
    block.modules(),
    block.namedModules().map(([, module]) => module),
  )
  assert.deepEqual(namesOf(block.namedChildren()), ['W_query', 'layers', 'heads.0', 'heads.1'])
  assert.deepEqual(block.children(), [query, layers, ...heads])
  assert.deepEqual(namesOf(block.namedParameters()), [
    ...['own_scale', 'W_query.weight', 'layers.0.weight', 'layers.0.bias'],
    ...['layers.1.0.scale', 'layers.1.0.shift'],
  ])
  assert.deepEqual(namesOf(block.namedBuffers()), [
    'mask',
    'layers.1.0.running_mean',
    'layers.1.0.running_var',
  ])
  assert.deepEqual(block.buffers()[0], block.mask)
  assert.ok('W_query.weight' in block.stateDict() && 'again.weight' in block.stateDict())
})

test('apply calls a function with the layers inside first, as PyTorch’s, and returns the layer', () => {
  const shared = new gpt.ReLU()
  const model = new gpt.Sequential(new gpt.Sequential(new gpt.Linear(1, 1), shared), shared)
  /** @type {Module[]} */
  const seen = []
  assert.equal(
    model.apply((module) => seen.push(module)),
    model,
  )
  const [inner] = model.layers
  assert.deepEqual(seen, [untyped(inner).layers[0], shared, inner, shared, model])
  model.layers.push(model)
  assertRefuses(
    () => model.apply(() => {}),
    'VALUE',
    'Sequential.apply: Sequential: a layer should not contain itself, got itself at 2',
  )
})

test('requiresGrad(false) freezes the parameters: they get no gradient, and requiresGrad() frees them again', () => {
  const frozen = new gpt.Linear(2, 2)
  const model = new gpt.Sequential(frozen, new gpt.Linear(2, 1))
  assert.equal(frozen.requiresGrad(false), frozen)
  model
    .forward(gpt.ones([1, 2]))
    .sum()
    .backward()
  assert.deepEqual(
    model.parameters().map(({ grad }) => grad !== null),
    [false, false, true, true],
  )
  frozen.requiresGrad()
  model
    .forward(gpt.ones([1, 2]))
    .sum()
    .backward()
  assert.ok(model.parameters().every(({ grad }) => grad !== null))
})

test('ModuleList holds layers as PyTorch’s', () => {
  const [a, b, c] = [new gpt.Linear(2, 2), new gpt.Linear(2, 2), new gpt.ReLU()]
  const list = new gpt.ModuleList([a, b])
  assert.equal(list.append(c), list)
  assert.equal(list.length, 3)
  assert.deepEqual([list.at(0), list.at(-1)], [a, c])
  assert.deepEqual([...list], [a, b, c])
  assert.deepEqual(list.map((module, i) => [module, i]).flat(), [a, 0, b, 1, c, 2])
  class Holder extends gpt.Module {
    layers = list
  }
  const holder = new Holder()
  assert.deepEqual(Object.keys(holder.stateDict()), [
    ...['layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias'],
  ])
  holder.eval()
  assert.equal(c.training, false)
  const linear = 'Linear(in_features=2, out_features=2, bias=True)'
  assert.equal(
    String(holder),
    `Holder(\n  (layers): ModuleList(\n    (0-1): 2 x ${linear}\n    (2): ReLU()\n  )\n)`,
  )
  assert.equal(String(new gpt.ModuleList()), 'ModuleList()')
  const other = new Holder()
  other.loadStateDict(gpt.loadSafetensors(gpt.saveSafetensors(holder.stateDict())))
  const itself = 'ModuleList.append: module should not be the list itself, or contain it'
  for (const other of [list, new gpt.Sequential(list)])
    assertRefuses(() => list.append(other), 'VALUE', itself)
})

test('a Tensor that a listener returns takes the place of the output, also for the next listener', () => {
  const layer = new gpt.Sequential(new gpt.Identity(), new gpt.ReLU())
  const x = gpt.parameter(gpt.tensor([1, -2, 3]))
  /** @type {unknown[]} */
  const seen = []
  const stops = [
    layer.layers[0].onForward(({ output }) => output.mul(10)),
    layer.layers[0].onForward(({ output }) => void seen.push(output.toArray())),
    layer.layers[0].onForward(({ output }) => output.add(1)),
    layer.onForward(({ name, output }) => (name === '' ? output.neg() : undefined)),
  ]
  layer.forward(x).sum().backward()
  assert.deepEqual(seen, [[10, -20, 30]])
  assert.deepEqual(gradientOf(x).toArray(), [-10, 0, -10])
  assert.deepEqual(layer.forward(x).toArray(), [-11, -0, -31])
  for (const stop of stops) stop()
  assert.deepEqual(layer.forward(x).toArray(), [1, 0, 3])
})

test('a listener may replace an Attention’s output beside its weights', () => {
  const attn = new gpt.Attention(config)
  attn.onForward(({ name, output }) => (name === '' ? output.mul(0) : undefined))
  const { output, weights } = untyped(attn).forward(gpt.randn([3, 6]), { returnWeights: true })
  assert.ok(output.data.every((/** @type {number} */ value) => value === 0))
  assert.deepEqual(weights.shape, [2, 3, 3])
})

test('what a listener puts in place of an output is freed by nobody but its scope, and nothing is left behind', () => {
  const model = new gpt.GPTModel(config).eval()
  const kept = gpt.randn([3, 6])
  const put = {
    kept: () => kept,
    made: (/** @type {Tensor} */ output) => output.mul(2),
    alias: (/** @type {Tensor} */ output) => output.reshape(output.shape),
    same: (/** @type {Tensor} */ output) => output,
    read: (/** @type {Tensor} */ output) => output.mul(output),
  }
  for (const [how, replace] of Object.entries(put)) {
    const stop = model.onForward(({ name, output }) =>
      /norm1$|\.attn$|^trf_blocks.\d$|^final_norm$/.test(name) ? replace(output) : undefined,
    )
    const forward = () => model.forward([0, 1, 2])
    /** @type {Record<string, () => Tensor | void>} */
    const runs = {
      noGrad: () => gpt.noGrad(forward),
      grad: forward,
      backward: () => {
        forward().sum().backward()
        model.zeroGrad()
      },
    }
    for (const [name, run] of Object.entries(runs)) {
      gpt.scope(untyped(run))
      const before = usedMemory(gpt)
      const first = gpt.scope(() => untyped(run)()?.toArray())
      assert.deepEqual(
        gpt.scope(() => untyped(run)()?.toArray()),
        first,
        `${how}, ${name}`,
      )
      assert.equal(usedMemory(gpt), before, `${how}, ${name}`)
    }
    assert.equal(kept.disposed, false)
    stop()
  }
})
