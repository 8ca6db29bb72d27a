// module.quantize: what becomes int8, what it computes, and what else a layer does then.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefuses, biasOf, loadForTest, redraw, untyped, usedMemory } from './support.js'

const gpt = await loadForTest()

const CONFIG = { vocabSize: 61, contextLength: 9, embDim: 64, nHeads: 2, nLayers: 2 }
const IDS = [[3, 60, 0, 7, 11]]

/** @param {Float32Array} a @param {Float32Array} b @returns {number} the relative error */
const distance = (a, b) => Math.hypot(...a.map((x, i) => x - b[i])) / Math.hypot(...b)

test('Linear and Conv1D compute with the rounded weights, to the rounding of x to 14 bits', () => {
  for (const rows of [1, 3, 70]) {
    for (const layer of [new gpt.Linear(130, 37), new gpt.Conv1D(37, 130)]) {
      redraw(gpt, biasOf(layer))
      const x = gpt.randn([2, rows, 130])
      layer.quantize()
      const weight = /** @type {import('gpt-layers').Int8Weight} */ (layer.int8Weight).dequantize()
      const expected = x.matmul(weight.transpose(0, 1)).add(biasOf(layer))
      const y = layer.forward(x)
      assert.deepEqual(y.shape, [2, rows, 37])
      assert.ok(distance(y.data, expected.data) < 1e-4)
    }
  }
})

test('a model computes nearly the same in less than half of the memory', () => {
  for (const tieWeights of [false, true]) {
    const model = new gpt.GPTModel({ ...CONFIG, tieWeights }).eval()
    const bytes = model.parameters().reduce((sum, { size }) => sum + 4 * size, 0)
    const before = usedMemory(gpt)
    const compute = () => gpt.scope(() => model.forward(IDS).data.slice())
    const expected = compute()
    assert.equal(model.quantize(), model)
    assert.ok(distance(compute(), expected) < 0.02)
    assert.ok(before - usedMemory(gpt) > 0.6 * bytes)
    model.dispose()
    assert.equal(model.outHead.int8Weight, null)
  }
})

test('int8 logits are within 4e-4 of float32’s, of the same weights; with inputs of 50, within 1e-3', () => {
  for (const [factor, tolerance] of [
    [1, 4e-4],
    [50, 1e-3],
  ]) {
    const model = new gpt.GPTModel({ ...CONFIG, embDim: 128, tieWeights: true }).eval()
    for (const weight of [model.tokEmb.weight, model.trfBlocks[0].ff.layers[0].weight]) {
      weight.data.forEach((value, at) => {
        if (at % 128 === 17) weight.data[at] = value * factor
      })
    }
    const ids = [3, 60, 0, 7, 11, 11, 42]
    const largest = Math.max(...model.forward(ids).data.map(Math.abs))
    model.quantize()
    const int8 = model.forward(ids).data.slice()
    const judge = new gpt.GPTModel({ ...CONFIG, embDim: 128, tieWeights: true }).eval()
    judge.loadStateDict(model.stateDict()) // the rounded weights as float32
    judge
      .forward(ids)
      .data.forEach((value, i) =>
        assert.ok(Math.abs(int8[i] - value) <= tolerance * largest, `${int8[i]} for ${value}`),
      )
  }
})

test('all matrices of products become int8, and an embedding that is tied to one', () => {
  const int8Names = (/** @type {InstanceType<typeof gpt.GPTModel>} */ model) =>
    Object.entries(model.stateDict()).flatMap(([name, { int8Weight }]) => (int8Weight ? [name] : []))
  const block = ['attn.c_attn', 'attn.c_proj', 'ff.layers.0', 'ff.layers.2'].map((name) => `${name}.weight`)
  const blocks = [0, 1].flatMap((i) => block.map((name) => `trf_blocks.${i}.${name}`))
  const untied = new gpt.GPTModel(CONFIG).quantize()
  assert.deepEqual(int8Names(untied), [...blocks, 'out_head.weight'])
  assert.equal(untied.tokEmb.int8Weight, null)
  const tied = new gpt.GPTModel({ ...CONFIG, tieWeights: true }).quantize()
  assert.deepEqual(int8Names(tied), ['tok_emb.weight', ...blocks, 'out_head.weight'])
  assert.equal(tied.tokEmb.int8Weight, tied.outHead.int8Weight)
  assert.ok(tied.outHead.weight.disposed)
})

test('one layer of a model can be quantized; an embedding tied to it follows', () => {
  const model = new gpt.GPTModel({ ...CONFIG, tieWeights: true }).eval()
  const row = model.tokEmb.forward([5]).data.slice()
  model.outHead.quantize()
  assert.ok(model.tokEmb.int8Weight)
  const before = usedMemory(gpt)
  model.tokEmb.forward([5]).dispose()
  assert.equal(usedMemory(gpt), before)
  assert.equal(model.trfBlocks[0].attn.cAttn.int8Weight, null)
  const scale = Math.max(...row.map(Math.abs)) / 127
  model.tokEmb
    .forward([5])
    .data.forEach((value, i) => assert.ok(Math.abs(value - row[i]) <= scale / 2 + 1e-9))
  model.forward(IDS)
})

test('quantizing again changes nothing', () => {
  const layer = new gpt.Linear(6, 5).quantize()
  const { int8Weight } = layer
  layer.quantize({ groupSize: 2 })
  assert.equal(layer.int8Weight, int8Weight)
})

test('a weight that another kind of layer shares stays float32', () => {
  class Shares extends gpt.Module {
    constructor() {
      super()
      this.linear = new gpt.Linear(4, 4)
      this.conv = new gpt.Conv1D(4, 4)
      this.own = this.linear.weight
      this.other = new gpt.Conv1D(4, 4)
      this.flipped = new gpt.Linear(4, 4)
      this.flipped.weight = this.other.weight
    }
  }
  const layer = new Shares().quantize()
  assert.ok(layer.conv.int8Weight)
  for (const kept of [layer.linear, layer.other, layer.flipped]) {
    assert.equal(kept.int8Weight, null)
    kept.forward(gpt.ones([4]))
  }
})

test('an int8 weight is no parameter, and cannot be trained', () => {
  const model = new gpt.GPTModel({ ...CONFIG, tieWeights: true })
  const { weight } = model.outHead
  const optimizer = new gpt.SGD(model.parameters(), { lr: 0.1 })
  model.quantize()
  assert.ok(!model.parameters().includes(weight))
  assert.ok(model.namedParameters().some(([name]) => name === 'pos_emb.weight'))
  const loss = model.forward(IDS).sum()
  const message =
    'backward: weight should be float32 for backward, got int8, made by quantize; call forward in gpt.noGrad'
  assertRefuses(() => loss.backward(), 'UNSUPPORTED', message)
  assert.ok(model.parameters().every(({ grad }) => grad === null))
  assert.equal(model.tokEmb.forward([1]).requiresGrad, false)
  const got = 'got one that quantize has made int8: see int8Weight'
  for (const [name, use] of /** @type {const} */ ([
    ['SGD.step', () => optimizer.step()],
    ['AdamW', () => new gpt.AdamW([weight])],
    ['clipGradNorm', () => gpt.clipGradNorm([weight], 1)],
  ])) {
    assertRefuses(use, 'DISPOSED', `${name}: parameters[0] should be a live Tensor, ${got}`)
  }
  assertRefuses(() => weight.data, 'DISPOSED', `the tensor should be live, ${got}`)
})

test('train, eval, onForward and dispose work as before', () => {
  const model = new gpt.GPTModel(CONFIG).quantize()
  const { int8Weight } = model.outHead
  /** @type {string[]} */
  const names = []
  const stop = model.onForward(({ name }) => void names.push(name))
  const trained = model.train().forward(IDS).data.slice()
  stop()
  assert.ok(names.includes('trf_blocks.1.ff.layers.0'))
  assert.deepEqual(model.eval().forward(IDS).data, trained)
  model.dispose()
  assert.ok(int8Weight?.disposed)
  assertRefuses(
    () => model.forward(IDS),
    'DISPOSED',
    'Embedding.forward: weight should be a live Tensor, got one that was disposed',
  )
  model.dispose()
})

test('a scope frees a model that was quantized in it, and keeps one that it returns', () => {
  const used = usedMemory(gpt)
  gpt.scope(() => void new gpt.Linear(64, 64).quantize())
  assert.equal(usedMemory(gpt), used)
  const outer = new gpt.Linear(64, 64)
  gpt.scope(() => void outer.quantize())
  outer.forward(gpt.ones([64]))
  const kept = gpt.scope(() => new gpt.Linear(64, 64).quantize())
  kept.forward(gpt.ones([64]))
  kept.dispose()
})

test('where one weight is not finite, quantize changes nothing', () => {
  const layer = new gpt.Sequential(new gpt.Linear(16, 16), new gpt.Linear(16, 16))
  const [first, second] = /** @type {InstanceType<typeof gpt.Linear>[]} */ (untyped(layer.layers))
  second.weight.data[3] = NaN
  const used = usedMemory(gpt)
  assertRefuses(
    () => layer.quantize(),
    'VALUE',
    'Sequential.quantize: 1.weight should be finite to become int8, got NaN or an infinity',
  )
  assert.deepEqual([first.int8Weight, second.int8Weight], [null, null])
  assert.equal(usedMemory(gpt), used)
})

test('without memory each weight is whole, int8 or float32, and the layer computes', async () => {
  const small = await loadForTest({ maxMemory: 3 })
  const model = new small.Sequential(new small.Linear(64, 64), new small.Linear(64, 640)).eval()
  const compute = () => small.scope(() => model.forward(small.ones([64])).data.slice())
  const expected = compute()
  const fill = [small.zeros([2048])] // room for the first weight
  for (let size = 2 ** 20; size >= 4; size /= 2) {
    try {
      for (;;) fill.push(small.zeros([size]))
    } catch (error) {
      assert.equal(untyped(error).code, 'MEMORY')
    }
  }
  const int8 = () => model.layers.map((layer) => Boolean(untyped(layer).int8Weight))
  assertRefuses(() => model.quantize(), 'MEMORY', /Sequential.quantize: 0.weight: needs \d+ bytes/)
  assert.deepEqual(int8(), [false, false])
  fill.shift()?.dispose()
  assertRefuses(() => model.quantize(), 'MEMORY', /Sequential.quantize: 1.weight: needs \d+ bytes/)
  assert.deepEqual(int8(), [true, false])
  for (const tensor of fill) tensor.dispose()
  assert.ok(distance(compute(), expected) < 0.02)
  model.quantize()
  assert.deepEqual(int8(), [true, true])
  assert.ok(distance(compute(), expected) < 0.02)
  small.dispose()
})

test('state dicts and files hold int8 weights, to the bit', () => {
  for (const groupSize of [2, 22, 64, Infinity]) {
    const config = { ...CONFIG, embDim: 66, tieWeights: true }
    const float = new gpt.GPTModel(config)
    float.outHead.weight.data.fill(0, 66, 132) // a row whose scale is 0
    const model = float.quantize({ groupSize }).eval()
    const file = gpt.saveSafetensors(model, { names: 'ours' })
    const expected = String(model.forward(IDS))
    const loads = /** @type {const} */ ([
      (/** @type {typeof model} */ other) => other.loadStateDict(gpt.loadSafetensors(file)),
      (/** @type {typeof model} */ other) => other.loadStateDict(model.stateDict()),
    ])
    for (const load of loads) {
      const other = new gpt.GPTModel(config).quantize({ groupSize }).eval()
      const { int8Weight } = other.outHead
      load(other)
      assert.equal(other.outHead.int8Weight, int8Weight)
      assert.equal(String(other.forward(IDS)), expected)
      assert.deepEqual(gpt.saveSafetensors(other, { names: 'ours' }), file)
      assert.deepEqual(gpt.saveSafetensors(other.stateDict()).slice(-400), file.slice(-400))
    }
  }
})

test('a layer may exchange its own int8 weights', () => {
  const pair = new gpt.Sequential(new gpt.Linear(8, 4), new gpt.Linear(8, 4)).quantize()
  const own = pair.stateDict()
  const first = own['0.weight'].int8Weight?.values()
  const second = own['1.weight'].int8Weight?.values()
  pair.loadStateDict({ ...own, '0.weight': own['1.weight'], '1.weight': own['0.weight'] })
  assert.deepEqual(own['0.weight'].int8Weight?.values(), second)
  assert.deepEqual(own['1.weight'].int8Weight?.values(), first)
})

test('a layer stays float32 or int8, whatever it loads', () => {
  const source = new gpt.Linear(10, 7)
  const floats = source.weight.clone()
  const bias = biasOf(source)
  source.quantize({ groupSize: 4 })
  const file = gpt.saveSafetensors(source, { names: 'ours' })
  const dequantized = source.int8Weight?.dequantize()
  for (const load of /** @type {((layer: typeof source) => void)[]} */ ([
    (layer) => layer.loadStateDict(gpt.loadSafetensors(file)),
    (layer) => layer.loadStateDict({ weight: source.weight, bias }),
    (layer) => layer.loadStateDict({ weight: untyped(source.int8Weight), bias }),
  ])) {
    const float = new gpt.Linear(10, 7)
    load(float)
    assert.equal(float.int8Weight, null)
    assert.deepEqual(float.weight.data, dequantized?.data)
    const other = new gpt.Linear(10, 7).quantize({ groupSize: 10 })
    load(other)
    assert.equal(other.int8Weight?.groupSize, 10)
    assert.ok(distance(other.int8Weight.dequantize().data, floats.data) < 0.02)
  }
  const target = new gpt.Linear(10, 7).quantize({ groupSize: 4 })
  target.loadStateDict({ weight: floats, bias })
  assert.deepEqual(gpt.saveSafetensors(target, { names: 'ours' }), file)
})

test('float32 weights that are read in several slabs become int8 as in one piece', async () => {
  // More than 2 ** 20 values; as many rows of 1001 as a slab could hold end within a group and a block.
  for (const make of [() => new gpt.Linear(1001, 1100), () => new gpt.Conv1D(1001, 1100)]) {
    const layer = make()
    const file = gpt.saveSafetensors(layer, { names: 'ours' })
    layer.quantize()
    const read = make().quantize()
    read.loadStateDict(gpt.loadSafetensors(file))
    for (const what of /** @type {const} */ (['scales', 'values'])) {
      const [actual, wanted] = [read, layer].map(({ int8Weight }) => Array.from(int8Weight?.[what]() ?? []))
      assert.equal(actual.length, wanted.length)
      const first = actual.findIndex((value, i) => value !== wanted[i])
      assert.equal(first, -1, `${layer}: of ${what}, ${first} is ${actual[first]}, not ${wanted[first]}`)
    }
    for (const one of [layer, read]) one.dispose()
  }
})

test('names that stand for transposed float32 weights take int8 weights as they are', () => {
  const conv = new gpt.Conv1D(12, 3).quantize({ groupSize: 2 })
  const proj = new gpt.Conv1D(3, 12).quantize({ groupSize: 4 })
  const dict = {
    'c_fc.weight': conv.weight,
    'c_fc.bias': biasOf(conv),
    'c_proj.weight': proj.weight,
    'c_proj.bias': biasOf(proj),
  }
  const x = gpt.randn([2, 3])
  const file = gpt.saveSafetensors(dict)
  for (const isFile of [false, true]) {
    const ff = new gpt.FeedForward({ embDim: 3, hiddenDim: 12 }).eval()
    ff.layers[0].quantize({ groupSize: 2 })
    if (isFile) ff.loadStateDict(gpt.loadSafetensors(file))
    else ff.loadStateDict(dict)
    assert.deepEqual(ff.layers[0].int8Weight?.values(), conv.int8Weight?.values())
    const expected = proj.forward(new gpt.GELU().forward(conv.forward(x)))
    assert.ok(distance(ff.forward(x).data, expected.data) < 1e-3)
  }
})
