// Reading files that Python writes, writing files that Python reads, and refusing all others.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertClose, assertRefuses, assertSame, biasOf, golden, loadForTest, unpack } from './support.js'
import { entry, json } from './tensorfile.js'

const { state, mixed, norms } = golden('safetensors')
const bytesOf = (/** @type {string} */ base64) => Uint8Array.from(Buffer.from(base64, 'base64'))

const gpt = await loadForTest()
const SMALL = { vocabSize: 3, contextLength: 2, embDim: 2, nHeads: 1, nLayers: 1 }

test('a layer’s file is the one that Python’s safetensors writes of PyTorch’s layer, byte for byte', () => {
  gpt.manualSeed(123)
  const layer = new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU(), new gpt.Linear(6, 3))
  const file = gpt.saveSafetensors(layer, { names: 'ours' })
  assert.ok(file instanceof Uint8Array)
  assert.deepEqual(Buffer.from(file).toString('base64'), state.file)
  assert.deepEqual(gpt.saveSafetensors(layer.stateDict()), file)
})

test('the header of a GPT’s file has the values of transformers’ config.json', () => {
  const sizes = { vocabSize: 5, contextLength: 4, embDim: 6, nHeads: 3, nLayers: 2, hiddenDim: 7 }
  for (const [tieWeights, layerNormEpsilon, approximate] of /** @type {const} */ ([
    [true, 1e-3, 'none'],
    [false, 1e-5, 'tanh'],
  ])) {
    const model = new gpt.GPTModel({ ...sizes, tieWeights, layerNormEpsilon, approximate })
    const file = Buffer.from(gpt.saveSafetensors(model))
    const { __metadata__: found } = JSON.parse(file.toString('utf8', 8, 8 + Number(file.readBigUInt64LE())))
    const activation = approximate === 'none' ? 'gelu' : 'gelu_new'
    const expected = `format pt, model_type gpt2, vocab_size 5, n_positions 4, n_embd 6, n_layer 2, n_inner 7, \
tie_word_embeddings ${tieWeights}, n_head 3, layer_norm_epsilon ${layerNormEpsilon}, activation_function ${activation}`
    assert.deepEqual(found, Object.fromEntries(expected.split(', ').map((pair) => pair.split(' '))))
  }
})

test('a file under the book’s names has the book’s mask of each block', () => {
  const model = new gpt.GPTModel({ ...SMALL, contextLength: 4, nLayers: 2 })
  const file = gpt.loadSafetensors(gpt.saveSafetensors(model, { names: 'book' }))
  for (const name of ['trf_blocks.0.att.mask', 'trf_blocks.1.att.mask'])
    assert.deepEqual(file[name].toArray(), gpt.ones([4, 4]).triu({ diagonal: 1 }).toArray())
})

test('the numbers in a file are aligned, as Python writes it: the large ones come first, the header has 8 n bytes', () => {
  const namesOf = (/** @type {Uint8Array} */ file) => Object.keys(gpt.loadSafetensors(file))
  const book = namesOf(gpt.saveSafetensors(new gpt.GPTModel(SMALL), { names: 'book' }))
  assert.equal(book.at(-1), 'trf_blocks.0.att.mask')
  const int8 = gpt.saveSafetensors(new gpt.Linear(2, 3).quantize(), { dtype: 'float16' })
  assert.deepEqual(namesOf(int8), ['weight_scale', 'bias', 'weight'])
  for (let length = 0; length < 8; length++) {
    const file = Buffer.from(gpt.saveSafetensors({ ['x'.repeat(length)]: gpt.ones([1]) }))
    const header = file.toString('utf8', 8, 8 + Number(file.readBigUInt64LE()))
    assert.ok(header.length % 8 === 0 && /\} {0,7}$/.test(header), header)
  }
})

test('a layer reads Python’s file', () => {
  for (const bytes of [bytesOf(state.file), bytesOf(state.file).buffer, Buffer.from(state.file, 'base64')]) {
    const layer = new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU(), new gpt.Linear(6, 3))
    layer.loadStateDict(gpt.loadSafetensors(bytes))
    const own = layer.stateDict()
    for (const [name, packed] of Object.entries(state.tensors)) assertSame(own[name], packed)
  }
})

test('PyTorch’s LayerNorm and BatchNorm load from weight and bias, and compute the same', () => {
  const layer = new gpt.Sequential(
    new gpt.LayerNorm(5),
    new gpt.BatchNorm(5),
    new gpt.Linear(5, 2, { bias: false }),
  )
  layer.loadStateDict(gpt.loadSafetensors(bytesOf(norms.file)))
  assertClose(layer.eval().forward(gpt.tensor(unpack(norms.x), norms.x.shape)), norms.out, 1e-6)
  const rms = new gpt.RMSNorm(2)
  rms.loadStateDict({ weight: gpt.tensor([3, 4]) })
  assert.deepEqual(rms.scale.toArray(), [3, 4])
})

test('floats of 16 to 64 bits, and integers that float32 holds exactly, read as PyTorch’s float()', () => {
  const tensors = gpt.loadSafetensors(bytesOf(mixed.file))
  assert.deepEqual(Object.keys(tensors).sort(), Object.keys(mixed.tensors).sort())
  for (const [name, packed] of Object.entries(mixed.tensors)) assertSame(tensors[name], packed)
})

test('a file is read at any offset of its buffer, and a layer reads other dtypes', () => {
  const shifted = new Uint8Array(bytesOf(mixed.file).length + 3)
  shifted.set(bytesOf(mixed.file), 3)
  const { f64, i64 } = gpt.loadSafetensors(shifted.subarray(3))
  assertSame(f64, mixed.tensors.f64)
  assertSame(i64, mixed.tensors.i64)
  // A header whose length is no multiple of 4, in a Buffer, whose `slice` does not copy.
  const odd = Buffer.from(json({ ab: entry(0, 4), __metadata__: { a: 'bb' } }, 4))
  assert.notEqual((odd.byteOffset + odd.length) % 4, 0)
  assert.deepEqual(gpt.loadSafetensors(odd).ab.toArray(), [0])
  const layer = new gpt.Linear(3, 1)
  const header = {
    weight: entry(0, 6, { dtype: 'F16', shape: [1, 3] }),
    bias: entry(6, 14, { dtype: 'I64', shape: [1] }),
  }
  const file = json(header, 14)
  file.set([0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xfb, 255, 255, 255, 255, 255, 255, 255], file.length - 14)
  layer.loadStateDict(gpt.loadSafetensors(file))
  assert.deepEqual([...layer.weight.data, ...biasOf(layer).data], [1, -2, 2 ** -24, -5])
})

test('a saved file reads back the same: NaN’s bits, empty files and unusual names too', () => {
  const x = gpt.tensor([0.1, -0, NaN, Infinity])
  new Uint32Array(gpt.exports.memory.buffer, x.byteOffset + 8, 1)[0] = 0x7fc5a5a5
  const again = gpt.loadSafetensors(gpt.saveSafetensors({ x, '"\\': gpt.ones([]), ü: gpt.zeros([0, 2]) }))
  const words = (/** @type {Tensor} */ tensor) => [
    ...new Uint32Array(gpt.exports.memory.buffer, tensor.byteOffset, tensor.size),
  ]
  assert.deepEqual(words(again.x), words(x))
  assert.equal(again['"\\'].item(), 1)
  assert.deepEqual(again.ü.shape, [0, 2])
  assert.deepEqual(gpt.loadSafetensors(gpt.saveSafetensors({})), {})
  // "__proto__" is an ordinary name here.
  const odd = gpt.loadSafetensors(json('{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', 4))
  assert.deepEqual(Object.keys(odd), ['__proto__'])
})

test('a header may have 10 MB, escapes, white space, fields of other programs, and metadata that is null', () => {
  const odd =
    '{ "\\u0061\\\\" :\t{"note": [1, true, [null], {}], "a\\"}": "", "x": -1.5e3, "dtype":"F32","shape":[ ] ,"data_offsets":[0,4]}\n}  '
  assert.deepEqual(Object.keys(gpt.loadSafetensors(json(odd, 4))), ['a\\'])
  for (const __metadata__ of [null, { note: 'ä"\\'.repeat(2_500_000) }])
    assert.deepEqual(Object.keys(gpt.loadSafetensors(json({ __metadata__, a: entry(0, 4) }, 4))), ['a'])
})

test('a header may name the tensors in any order, those without elements too', () => {
  const header = {
    last: entry(8, 16, { shape: [2, 1] }),
    first: entry(0, 8),
    noneAtBegin: entry(0, 0),
    noneAtEnd: entry(16, 16),
  }
  const file = json(header, 16)
  file.set(new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer), file.length - 16)
  const tensors = gpt.loadSafetensors(file)
  const values = Object.entries(tensors).map(([name, tensor]) => [name, tensor.toArray()])
  assert.deepEqual(Object.fromEntries(values), {
    first: [1, 2],
    last: [[3], [4]],
    noneAtBegin: [],
    noneAtEnd: [],
  })
})

test('every float16 is read as its value, and written again, a NaN as one of NaN', () => {
  const file = json({ a: entry(0, 2 ** 17, { dtype: 'F16', shape: [2 ** 16] }) }, 2 ** 17)
  const start = file.length - 2 ** 17
  for (let bits = 0; bits < 2 ** 16; bits++) file.set([bits & 255, bits >> 8], start + 2 * bits)
  const { a } = gpt.loadSafetensors(file)
  const [{ data }, again] = [a, gpt.saveSafetensors({ a }, { dtype: 'float16' })]
  const written = new Uint16Array(again.slice(-(2 ** 17)).buffer)
  for (let bits = 0; bits < 2 ** 16; bits++) {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023]
    const ordinary = sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
    const special = fraction === 0 ? sign * Infinity : NaN
    const expected = exponent === 31 ? special : exponent === 0 ? sign * fraction * 2 ** -24 : ordinary
    assert.ok(Object.is(data[bits], expected), `${bits}: ${data[bits]}`)
    const isNaN = exponent === 31 && fraction > 0
    assert.equal(written[bits], isNaN ? (bits & 0x8000) | 0x7e00 : bits, `${data[bits]}`)
  }
})

test('names that would hide each other in a file are refused, with both properties', () => {
  class Heads extends gpt.Module {
    headA = new gpt.Linear(1, 1)
    head_a = new gpt.Linear(1, 1)
  }
  class Tensors extends gpt.Module {
    runningMean = gpt.ones([1])
    running_mean = gpt.zeros([1])
  }
  const cases = /** @type {const} */ ([
    [new Heads(), 'head_a.weight', 'headA.weight'],
    [new gpt.Sequential(new Tensors()), '0.running_mean', '0.runningMean'],
  ])
  for (const [layer, name, other] of cases) {
    const message = `${layer.constructor.name}.stateDict: ${name} should have a name of its own in the state dict, got ${name}, which ${other} has`
    assertRefuses(() => layer.stateDict(), 'VALUE', message)
    assertRefuses(() => gpt.saveSafetensors(layer, { names: 'ours' }), 'VALUE', message)
    assertRefuses(() => layer.loadStateDict({}), 'VALUE', message)
    layer.dispose()
  }
  class Reserved extends gpt.Module {
    __metadata__ = gpt.ones([1])
  }
  const message = 'saveSafetensors: names should not be reserved by the format, got "__metadata__"'
  assertRefuses(() => gpt.saveSafetensors(new Reserved()), 'VALUE', message)
  class Shared extends gpt.Module {
    headA = gpt.ones([1])
    head_a = this.headA
  }
  assert.deepEqual(Object.keys(new Shared().stateDict()), ['head_a'])
})

test('long names are cut in messages', () => {
  const layer = new gpt.LayerNorm(1)
  const long = 'x'.repeat(1e6)
  const x = gpt.ones([1])
  const gone = gpt.ones([1])
  gone.dispose()
  for (const call of [
    () => layer.loadStateDict({ [long]: x }),
    () => layer.loadStateDict({ weight: x, [`${long}1`]: x, [`${long}2`]: x }),
    () => gpt.saveSafetensors({ [long]: gone }),
    () => gpt.loadSafetensors(json({ [long]: entry(0, 4, { dtype: long }) }, 4)),
    () => layer.loadStateDict(gpt.loadSafetensors(json({ [long]: entry(0, 4) }, 4))),
    () =>
      new gpt.GPTModel(SMALL).loadStateDict(gpt.loadSafetensors(json({ [`h.0.${long}`]: entry(0, 4) }, 4))),
  ]) {
    assert.throws(call, (error) => {
      assert.ok(error instanceof Error && error.message.length < 1500, String(error).slice(0, 1500))
      return true
    })
  }
})

test('a property that is not camelCase keeps its name in files, and a layer’s own names come first', () => {
  class Book extends gpt.Module {
    W_query = new gpt.Linear(2, 2)
    KVCache = gpt.zeros([1])
    headA = new gpt.Linear(2, 1)
  }
  assert.deepEqual(Object.keys(new Book().stateDict()), [
    'KVCache',
    'W_query.weight',
    'W_query.bias',
    'head_a.weight',
    'head_a.bias',
  ])
  const config = { vocabSize: 3, contextLength: 2, embDim: 4, nHeads: 1, nLayers: 1 }
  const added = (/** @type {any} */ layer, /** @type {string} */ name) =>
    Object.assign(layer, { [name]: gpt.parameter(gpt.randn([4])) })
  // Each name is one that others use for something else.
  const layers = [
    added(new gpt.TransformerBlock(config), 'mlp'),
    added(new gpt.LayerNorm(4), 'bias'),
    added(new gpt.BatchNorm(4), 'weight'),
    added(new gpt.Attention(config), 'bias'),
    added(new gpt.FeedForward(config), 'c_fc'),
    Object.assign(new gpt.GPTModel(config), {
      lmHead: new gpt.Linear(4, 3),
      transformer: new gpt.Linear(2, 2),
    }),
  ]
  for (const layer of [new Book(), ...layers]) {
    const file = gpt.saveSafetensors(layer, { names: 'ours' })
    const before = Object.values(layer.stateDict()).map(({ data }) => [...data])
    for (const { data } of Object.values(layer.stateDict())) data.fill(0)
    layer.loadStateDict(gpt.loadSafetensors(file))
    assert.deepEqual(
      Object.values(layer.stateDict()).map(({ data }) => [...data]),
      before,
    )
  }
})

test('with strict: false missing and unknown names are left out, and named', () => {
  const layer = new gpt.Linear(2, 1)
  const bias = biasOf(layer).item()
  const dict = { weight: gpt.ones([1, 2]), gain: gpt.ones([1]) }
  assertRefuses(
    () => layer.loadStateDict(dict),
    'VALUE',
    'Linear.loadStateDict: dict should have bias, got gain',
  )
  const keys = layer.loadStateDict(dict, { strict: false })
  assert.deepEqual(keys, { missingKeys: ['bias'], unexpectedKeys: ['gain'] })
  assert.deepEqual([...layer.weight.data, biasOf(layer).item()], [1, 1, bias])
  const all = layer.loadStateDict(layer.stateDict())
  assert.deepEqual(all, { missingKeys: [], unexpectedKeys: [] })
})

test('float16 files have the nearest values, and read back the same', () => {
  const small = [2 ** -14, 2 ** -24, 2 ** -25, 3 * 2 ** -26]
  const values = [0, -0, 1, 1 / 3, 65504, 65519, ...small, 2049, 2051, 1e-30]
  const nearest = [0, -0, 1, 0.333251953125, 65504, 65504, 2 ** -14, 2 ** -24, 0, 2 ** -24, 2048, 2052, 0]
  const x = gpt.tensor([...values, NaN, Infinity, -Infinity])
  const bytes = gpt.saveSafetensors({ x }, { dtype: 'float16' })
  assert.equal(bytes.length, gpt.saveSafetensors({ x }).length - 2 * x.size)
  assert.deepEqual([...gpt.loadSafetensors(bytes).x.data], [...nearest, NaN, Infinity, -Infinity])
})

test('a GPT is written under others’ names only where they compute the same', async () => {
  const config = { vocabSize: 9, contextLength: 4, embDim: 8, nHeads: 2, nLayers: 2 }
  const ids = [1, 2, 3]
  for (const more of [
    { tieWeights: true },
    { qkvBias: false },
    { bias: false, hiddenDim: 12 },
    { hiddenDim: 1 },
  ]) {
    const model = new gpt.GPTModel({ ...config, ...more }).eval()
    for (const names of /** @type {const} */ (['gpt2', 'book', 'ours', undefined])) {
      const file = gpt.saveSafetensors(model, names && { names })
      const loaded = await gpt.GPTModel.fromPretrained(file)
      assert.equal(String(loaded.forward(ids)), String(model.forward(ids)), `${names}`)
      assert.equal('transformer.wte.weight' in gpt.loadSafetensors(file), names === 'gpt2' || !names)
    }
  }
  const exact = new gpt.GPTModel({ ...config, approximate: 'none', layerNormEpsilon: 1e-3 }).eval()
  const loaded = await gpt.GPTModel.fromPretrained(gpt.saveSafetensors(exact))
  assert.equal(String(loaded.forward(ids)), String(exact.forward(ids)))

  const bare = new gpt.GPTModel(config).eval()
  bare.trfBlocks[1].norm2 = new gpt.LayerNorm(8, { elementwiseAffine: false })
  for (const names of /** @type {const} */ (['gpt2', 'book'])) {
    const loaded = await gpt.GPTModel.fromPretrained(gpt.saveSafetensors(bare, { names }))
    assert.equal(String(loaded.forward(ids)), String(bare.forward(ids)), names)
  }

  const int8 = gpt.saveSafetensors(new gpt.GPTModel(config).quantize()) // ours by default
  assert.ok('tok_emb.weight' in gpt.loadSafetensors(int8))
})
