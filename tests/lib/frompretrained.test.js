// GPTModel.fromPretrained: which files it reads, from where, and that a failure leaves nothing behind.

/** @import { ErrorCode, FileSource, GPTModel, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { GptLayersError } from 'gpt-layers'
import { entryOf, fileOf, gpt2Entries } from './gpt2file.js'
import { assertNothingLeft, inheriting, loadForTest, shake, untyped, usedMemory } from './support.js'

const gpt = await loadForTest()
const folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
after(() => rmSync(folder, { recursive: true }))

const CONFIG = { vocabSize: 19, contextLength: 7, embDim: 64, nHeads: 1, nLayers: 2, tieWeights: true }
const IDS = [
  [3, 18, 0, 7],
  [1, 1, 4, 5],
]

/** @param {object} [config] */
const newModel = (config) => shake(gpt, new gpt.GPTModel({ ...CONFIG, ...config })).eval()

const model = newModel()
const expected = String(model.forward(IDS))
const file = fileOf(gpt2Entries(model))

/** @param {GPTModel} loaded @param {GPTModel} [original] */
function assertEqual(loaded, original = model) {
  assert.deepEqual(Object.keys(loaded.stateDict()), Object.keys(original.stateDict()))
  for (const [name, tensor] of Object.entries(original.stateDict())) {
    assert.deepEqual(loaded.stateDict()[name].data, tensor.data, name)
  }
}

/** @param {Uint8Array} bytes @param {readonly number[]} sizes the sizes of the chunks, repeated */
function streamOf(bytes, sizes, { onCancel = (/** @type {unknown} */ _reason) => {} } = {}) {
  let [begin, i] = [0, 0]
  return new ReadableStream({
    pull(controller) {
      const size = sizes[i++ % sizes.length]
      controller.enqueue(bytes.slice(begin, begin + size))
      begin += size
      if (begin >= bytes.length) controller.close()
    },
    cancel: onCancel,
  })
}

/**
 * Loading fails, and the memory in use is as before.
 *
 * @param {unknown} source
 * @param {ErrorCode} code
 * @param {RegExp} message
 * @param {object} [options]
 */
async function assertRefusesToLoad(source, code, message, options) {
  const used = usedMemory(gpt)
  await assert.rejects(gpt.GPTModel.fromPretrained(untyped(source), options), (error) => {
    assert.ok(error instanceof GptLayersError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
    return true
  })
  assertNothingLeft(gpt, used)
}

test('a GPT-2 loads from Hugging Face’s layout and names, with and without their prefix', async () => {
  for (const prefix of ['', 'transformer.']) {
    const loaded = await gpt.GPTModel.fromPretrained(fileOf(gpt2Entries(model, { prefix })))
    assert.ok(loaded instanceof gpt.GPTModel)
    assertEqual(loaded)
    assert.equal(loaded.tokEmb.weight, loaded.outHead.weight)
    assert.equal(String(loaded.forward(IDS)), expected)
    assert.equal(loaded.training, false)
    loaded.dispose()
  }
})

test('a file of our own loads, with a head of its own and without attn’s bias, too', async () => {
  for (const config of [{}, { tieWeights: false, qkvBias: false, hiddenDim: 36 }]) {
    const original = newModel(config)
    const loaded = await gpt.GPTModel.fromPretrained(gpt.saveSafetensors(original, { names: 'ours' }))
    assertEqual(loaded, original)
    assert.equal(String(loaded.forward(IDS)), String(original.forward(IDS)))
    loaded.dispose()
  }
})

test('a GPT-2 of one block loads, and a file without blocks is refused', async () => {
  const original = newModel({ nLayers: 1 })
  const entries = gpt2Entries(original)
  const loaded = await gpt.GPTModel.fromPretrained(fileOf(entries))
  assertEqual(loaded, original)
  for (const one of [loaded, original]) one.dispose()
  const outside = entries.filter(({ name }) => !/^h\./.test(name))
  const message = /source should have blocks, such as .*, got ln_f\.bias, ln_f\.weight, wpe/
  await assertRefusesToLoad(fileOf(outside), 'VALUE', message)
})

test('a disposed instance reads nothing of a source', async () => {
  const gone = await loadForTest()
  const Model = gone.GPTModel
  gone.dispose()
  const read = async () => assert.fail('the source was read')
  await assert.rejects(Model.fromPretrained(untyped({ read, stat: read })), { code: 'DISPOSED' })
})

test('a handle that reads in pieces gives the same model', async () => {
  const source = {
    stat: async () => ({ size: file.length }),
    /** @param {Uint8Array} target @param {number} at @param {number} length @param {number} from */
    async read(target, at, length, from) {
      const bytesRead = Math.min(Math.ceil(length / 2), file.length - from)
      target.set(file.subarray(from, from + bytesRead), at)
      return { bytesRead }
    },
  }
  const loaded = await gpt.GPTModel.fromPretrained(source)
  assert.equal(String(loaded.forward(IDS)), expected)
  loaded.dispose()
})

test('every kind of source gives the same model', async () => {
  const path = join(folder, 'model.safetensors')
  writeFileSync(path, file)
  const handle = await open(path)
  const bytes = new Uint8Array(file)
  const foreign = runInNewContext('(bytes) => new Uint8Array(bytes)')(file)
  let at = 0
  const deno = {
    stat: async () => ({}),
    /** @param {Uint8Array} target */
    async read(target) {
      const part = file.subarray(at, at + Math.min(target.length, 1000))
      target.set(part)
      at += part.length
      return part.length || null
    },
  }
  async function* chunks() {
    for (let i = 0; i < file.length; i += 777) yield file.subarray(i, i + 777)
  }
  /** @type {Record<string, FileSource>} */
  const sources = {
    bytes,
    'a Readable of Node': createReadStream(path),
    'an async iterable': chunks(),
    'a Deno.FsFile': deno,
    buffer: bytes.buffer,
    'an array of another realm': foreign,
    Blob: new Blob([file]),
    Response: new Response(file),
    ReadableStream: new Blob([file]).stream(),
    'a file handle': handle,
    'the same file handle again': handle,
  }
  for (const [name, source] of Object.entries(sources)) {
    const loaded = await gpt.GPTModel.fromPretrained(source)
    assert.equal(String(loaded.forward(IDS)), expected, name)
    loaded.dispose()
  }
  assert.equal((await handle.stat()).size, file.length) // still open
  await handle.close()
})

test('chunks of any size give the same model', async () => {
  for (const sizes of [[1000], [1, 0, 7, 4099], [file.length], [13, 64]]) {
    const loaded = await gpt.GPTModel.fromPretrained(streamOf(file, sizes))
    assert.equal(String(loaded.forward(IDS)), expected, String(sizes))
    loaded.dispose()
  }
})

test('float16, bfloat16 and float64 become the same float32', async () => {
  for (const [dtype, mask] of /** @type {const} */ ([
    ['F16', 0xffffe000],
    ['BF16', 0xffff0000],
    ['F64', -1],
  ])) {
    const original = newModel()
    for (const { data } of original.parameters()) {
      const bits = new Uint32Array(data.buffer, data.byteOffset, data.length)
      // Values that the smaller type has, none of them below float16's normal range.
      data.forEach((value, i) => (bits[i] = Math.abs(value) < 2 ** -14 ? 0 : bits[i] & mask))
    }
    const loaded = await gpt.GPTModel.fromPretrained(fileOf(gpt2Entries(original, { dtype })))
    assertEqual(loaded, original)
    loaded.dispose()
    original.dispose()
  }
})

test('with dtype int8 the matrices are quantized on the way, as quantize does', async () => {
  for (const { prefix, tieWeights } of [
    { prefix: '', tieWeights: true },
    { prefix: 'transformer.', tieWeights: false },
  ]) {
    const original = newModel({ tieWeights, embDim: 72, nHeads: 4, hiddenDim: 100 })
    const bytes = fileOf(gpt2Entries(original, { prefix }), { nHeads: 4 })
    const ours = gpt.saveSafetensors(original, { names: 'ours' })
    const quantized = gpt.saveSafetensors(original.quantize(), { names: 'ours' })
    const config = { nHeads: 4 }
    for (const source of [bytes, streamOf(bytes, [999]), ours]) {
      const loaded = await gpt.GPTModel.fromPretrained(source, { dtype: 'int8', config })
      assert.deepEqual(gpt.saveSafetensors(loaded, { names: 'ours' }), quantized)
      assert.equal(loaded.tokEmb.int8Weight === null, !tieWeights)
      assert.equal(String(loaded.forward(IDS)), String(original.forward(IDS)))
      loaded.dispose()
    }
    original.dispose()
  }
})

test('a file of int8 weights loads as int8, to the bit, with any groups and its number of heads', async () => {
  for (const groupSize of [12, 64, Infinity]) {
    const original = newModel({ embDim: 72, nHeads: 4 }).quantize({ groupSize })
    const bytes = gpt.saveSafetensors(original, { names: 'ours' })
    for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
      const loaded = await gpt.GPTModel.fromPretrained(streamOf(bytes, [5000]), { dtype })
      assert.equal(loaded.trfBlocks[0].attn.nHeads, 4)
      assert.deepEqual(gpt.saveSafetensors(loaded, { names: 'ours' }), bytes)
      loaded.dispose()
    }
    original.dispose()
  }
})

test('values and scales of int8 may come in any order, and under GPT-2’s names', async () => {
  const original = newModel().quantize()
  const expectedInt8 = String(original.forward(IDS))
  const tensors = Object.entries(gpt.loadSafetensors(gpt.saveSafetensors(original, { names: 'ours' })))
  const entries = tensors.map(([name, tensor]) => {
    const isInt8 = tensors.some(([other]) => other === `${name}_scale`)
    const given = name.replace('ff.layers.0', 'mlp.c_fc').replace('ff.layers.2', 'mlp.c_proj')
    return isInt8
      ? {
          name: given,
          dtype: 'I8',
          shape: tensor.shape,
          data: new Uint8Array(Int8Array.from(tensor.data).buffer),
        }
      : entryOf(given, tensor.shape, tensor.data)
  })
  for (const order of [entries, [...entries].reverse()]) {
    const loaded = await gpt.GPTModel.fromPretrained(fileOf(order))
    assert.equal(String(loaded.forward(IDS)), expectedInt8)
    loaded.dispose()
  }
  const wrong = entries.map((entry) =>
    entry.name === 'tok_emb.weight_scale' ? { ...entry, shape: [1, 19] } : entry,
  )
  await assertRefusesToLoad(fileOf(wrong), 'SHAPE', /tok_emb.weight_scale should have shape \[19, groups\]/)
  for (const scale of [NaN, Infinity, -1]) {
    const broken = entries.map((entry) =>
      entry.name === 'tok_emb.weight_scale'
        ? entryOf(entry.name, [19, 1], new Float32Array(19).fill(scale))
        : entry,
    )
    const message = new RegExp(`tok_emb.weight_scale should have finite scales from 0 on, got ${scale}$`)
    await assertRefusesToLoad(fileOf(broken), 'VALUE', message)
  }
  const turned = entries.map((entry) => ({
    ...entry,
    shape: /attn.*weight/.test(entry.name) ? [...entry.shape].reverse() : entry.shape,
  }))
  const message = /c_attn.weight should have shape \[192, 64\], got \[64, 192\]$/
  await assertRefusesToLoad(fileOf(turned), 'SHAPE', message)
  const missing = entries.filter(({ name }) => name !== 'tok_emb.weight')
  await assertRefusesToLoad(fileOf(missing), 'VALUE', /wte.weight/)
})

test('integers without a scale that is known are no weights, also where the scales are left out', async () => {
  const entries = gpt2Entries(model)
  const name = 'h.1.attn.c_attn.weight'
  const message = `${name} should have floats, or be a weight with scales in ${name}_scale, got`
  for (const [dtype, bytes] of /** @type {const} */ ([
    ['I8', 1],
    ['U8', 1],
    ['I32', 4],
  ])) {
    const [rows, cols] = entries.find((one) => one.name === name)?.shape ?? []
    const integers = { name, dtype, shape: [rows, cols], data: new Uint8Array(bytes * rows * cols) }
    const quantized = entries.map((one) => (one.name === name ? integers : one))
    // bitsandbytes: the scale of each output is its SCB / 127.
    const scales = entryOf(name.replace('weight', 'SCB'), [cols], new Float32Array(cols).fill(127))
    for (const strict of [true, false]) {
      const got = new RegExp(`${message} ${dtype}$`)
      await assertRefusesToLoad(fileOf(quantized), 'UNSUPPORTED', got, { strict })
      await assertRefusesToLoad(fileOf([...quantized, scales]), 'UNSUPPORTED', got, { strict, dtype: 'int8' })
    }
  }
  for (const quantization_config of [{ load_in_8bit: true }, { quant_method: 'gptq' }]) {
    await assertRefusesToLoad(file, 'VALUE', /config.quantization_config should be null, got an object/, {
      config: { model_type: 'gpt2', quantization_config },
    })
  }
  const config = { model_type: 'gpt2', quantization_config: null }
  ;(await gpt.GPTModel.fromPretrained(file, { config })).dispose()
})

test('of tied weights that the file has twice the first wins, and float32 ones must be the same', async () => {
  const once = await gpt.GPTModel.fromPretrained(file, { dtype: 'int8' })
  for (const other of [0, 1]) {
    const values = model.tokEmb.weight.data.map((value) => value + other)
    const bytes = fileOf([...gpt2Entries(model), entryOf('lm_head.weight', [19, 64], values)])
    const config = { tieWeights: true }
    const quantized = await gpt.GPTModel.fromPretrained(bytes, { dtype: 'int8', config })
    assert.equal(quantized.tokEmb.int8Weight, quantized.outHead.int8Weight)
    assert.deepEqual(
      gpt.saveSafetensors(quantized, { names: 'ours' }),
      gpt.saveSafetensors(once, { names: 'ours' }),
    )
    quantized.dispose()
    if (other) await assertRefusesToLoad(bytes, 'VALUE', /with which it is tied/, { config })
    else (await gpt.GPTModel.fromPretrained(bytes, { config })).dispose()
  }
  once.dispose()
})

test('a weight that is not finite is refused with dtype int8', async () => {
  const entries = gpt2Entries(model)
  const nan = new Float32Array(64 * 256).fill(NaN)
  const broken = entries.map((e) => (e.name === 'h.1.mlp.c_fc.weight' ? entryOf(e.name, e.shape, nan) : e))
  const message = /h.1.mlp.c_fc.weight should be finite to become int8/
  await assertRefusesToLoad(fileOf(broken), 'VALUE', message, { dtype: 'int8' })
})

test('config adds what the file does not say, and may not contradict it', async () => {
  const config = { nHeads: 4, dropRate: 0.25, approximate: 'none', vocabSize: 19 }
  const untold = fileOf(gpt2Entries(model), { nHeads: null })
  const loaded = await gpt.GPTModel.fromPretrained(untold, { config })
  const [{ attn, ff }] = loaded.trfBlocks
  assert.deepEqual([attn.nHeads, attn.dropRate, untyped(ff.layers[1]).approximate], [4, 0.25, 'none'])
  loaded.dispose()
  for (const [name, value] of Object.entries({
    vocabSize: 20,
    embDim: 128,
    nLayers: 3,
    qkvBias: false,
    nHeads: 4,
  })) {
    const message = new RegExp(`config.${name} should be .*, as in the file, got ${value}`)
    await assertRefusesToLoad(file, 'VALUE', message, { config: { [name]: value } })
  }
  await assertRefusesToLoad(untold, 'VALUE', /nHeads should be a divisor of 64/, { config: { nHeads: 3 } })
  await assertRefusesToLoad(file, 'VALUE', /config should have names among/, { config: { heads: 3 } })
})

test('the number of heads is never guessed: it comes from config or from the file', async () => {
  const original = newModel({ embDim: 128, nHeads: 4 })
  const untold = fileOf(gpt2Entries(original), { nHeads: null })
  const sizes = 'vocabSize 19, contextLength 7, embDim 128, nLayers 2'
  const message = new RegExp(`config\\.nHeads should be given .* OpenAI's GPT-2s, got none for ${sizes}$`)
  await assertRefusesToLoad(untold, 'VALUE', message)
  await assertRefusesToLoad(untold, 'TYPE', /nHeads/, { config: { nHeads: null } })
  const told = fileOf(gpt2Entries(original), { nHeads: 4 })
  for (const [source, config] of /** @type {const} */ ([
    [untold, { nHeads: 4 }],
    [told, {}],
  ])) {
    const loaded = await gpt.GPTModel.fromPretrained(source, { config })
    assert.equal(String(loaded.forward(IDS)), String(original.forward(IDS)))
    loaded.dispose()
  }
  original.dispose()
})

/**
 * The configuration that a file of these sizes leads to. Only its header is read.
 *
 * @param {number[]} sizes
 * @param {object} [config] what the user adds
 */
async function configFor([embDim, nLayers, vocabSize = 50257, contextLength = 1024], config) {
  let end = 0
  const shapes = Object.entries({ wte: [vocabSize, embDim], wpe: [contextLength, embDim] })
  for (let i = 0; i < nLayers; i++) shapes.push([`h.${i}.ln_1`, [embDim]])
  const header = shapes.map(([name, shape]) => {
    const begin = end
    end += 4 * shape.reduce((a, b) => a * b)
    return [`${name}.weight`, { dtype: 'F32', shape, data_offsets: [begin, end] }]
  })
  const text = Buffer.from(JSON.stringify(Object.fromEntries(header)))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  const seen = new Error('the configuration is known')
  class Probe extends gpt.GPTModel {
    /** @param {ConstructorParameters<typeof gpt.GPTModel>[0]} config */
    constructor(config) {
      super({ vocabSize: 1, contextLength: 1, embDim: 1, nHeads: 1, nLayers: 1 })
      throw Object.assign(seen, { config })
    }
  }
  const source = new Blob([length, text])
  const error = await Probe.fromPretrained(source, { config }).catch((error) => error)
  if (error !== seen) throw error
  return Reflect.get(seen, 'config')
}

test('hiddenDim is the one of config where the file has no feed-forward layer, as a subclass’s', async () => {
  assert.equal((await configFor([768, 12], { hiddenDim: 5 })).hiddenDim, 5)
})

test('the heads of OpenAI’s four GPT-2s are known, and of no model that is like one', async () => {
  for (const [embDim, nLayers, nHeads] of [
    [768, 12, 12],
    [1024, 24, 16],
    [1280, 36, 20],
    [1600, 48, 25],
  ]) {
    assert.equal((await configFor([embDim, nLayers])).nHeads, nHeads)
    for (const other of [
      [embDim, nLayers - 1],
      [embDim + 64, nLayers],
      [embDim, nLayers, 50304],
      [embDim, nLayers, 50257, 2048],
    ])
      await assert.rejects(configFor(other), /config\.nHeads should be given/)
  }
  await assert.rejects(configFor([768, 24]), /config\.nHeads should be given/)
})

test('a head in the file is a weight of its own, or, tied, must be the same', async () => {
  const head = entryOf('lm_head.weight', [19, 64], model.tokEmb.weight.data)
  const withHead = fileOf([...gpt2Entries(model, { prefix: 'transformer.' }), head])
  const untied = await gpt.GPTModel.fromPretrained(withHead)
  assert.notEqual(untied.tokEmb.weight, untied.outHead.weight)
  assert.equal(String(untied.forward(IDS)), expected)
  const tied = await gpt.GPTModel.fromPretrained(withHead, { config: { tieWeights: true } })
  assert.equal(tied.tokEmb.weight, tied.outHead.weight)
  assert.equal(String(tied.forward(IDS)), expected)
  const copied = await gpt.GPTModel.fromPretrained(file, { config: { tieWeights: false } })
  assert.notEqual(copied.tokEmb.weight, copied.outHead.weight)
  assert.equal(String(copied.forward(IDS)), expected)
  for (const loaded of [untied, tied, copied]) loaded.dispose()
  const other = entryOf(
    'lm_head.weight',
    [19, 64],
    model.tokEmb.weight.data.map((value) => value + 1),
  )
  await assertRefusesToLoad(fileOf([...gpt2Entries(model), other]), 'VALUE', /with which it is tied/, {
    config: { tieWeights: true },
  })
})

test('a tied weight may have the name of the head alone', async () => {
  const headOnly = gpt2Entries(model, { prefix: 'transformer.' }).map((entry) =>
    entry.name === 'transformer.wte.weight' ? { ...entry, name: 'lm_head.weight' } : entry,
  )
  for (const bytes of [
    fileOf(headOnly),
    fileOf(headOnly.map((entry) => ({ ...entry, name: `module.${entry.name}` }))),
  ]) {
    const loaded = await gpt.GPTModel.fromPretrained(bytes)
    assertEqual(loaded)
    assert.equal(loaded.tokEmb.weight, loaded.outHead.weight)
    assert.equal(String(loaded.forward(IDS)), expected)
    loaded.dispose()
  }
  const quantized = await gpt.GPTModel.fromPretrained(fileOf(headOnly), { dtype: 'int8' })
  const same = await gpt.GPTModel.fromPretrained(file, { dtype: 'int8' })
  assert.equal(String(quantized.forward(IDS)), String(same.forward(IDS)))
  for (const one of [quantized, same]) one.dispose()
  await assertRefusesToLoad(fileOf(headOnly), 'VALUE', /source should have tok_emb.weight, got/, {
    config: { tieWeights: false },
  })
})

test('a head for classes instead of tokens is left out with strict: false, and listed', async () => {
  const named = gpt2Entries(model)
  for (const head of ['out_head', 'lm_head']) {
    const classes = [
      entryOf(`${head}.weight`, [2, 64], new Float32Array(128).fill(9)),
      entryOf(`${head}.bias`, [2], new Float32Array(2)),
    ]
    const message = new RegExp(
      `${head}.weight should have shape \\[19, 64\\], or come with strict: false, got shape \\[2, 64\\]$`,
    )
    await assertRefusesToLoad(fileOf([...named, classes[0]]), 'SHAPE', message)
    await assertRefusesToLoad(fileOf([...named, ...classes]), 'SHAPE', message)
    for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
      const loaded = await gpt.GPTModel.fromPretrained(fileOf([...named, ...classes]), {
        strict: false,
        dtype,
      })
      assert.deepEqual([...loaded.ignored].sort(), [`${head}.bias`, `${head}.weight`])
      if (dtype === 'float32') assert.equal(String(loaded.forward(IDS)), expected)
      loaded.dispose()
    }
    await assertRefusesToLoad(fileOf([...named, ...classes]), 'VALUE', /source should have out_head.weight/, {
      strict: false,
      config: { tieWeights: false },
    })
  }
})

test('what all objects inherit says nothing about a file', async () => {
  const loaded = await inheriting(['block_size', 'read', 'slice'], () =>
    gpt.GPTModel.fromPretrained({ 'model.safetensors': file }),
  )
  assertEqual(loaded)
  assert.equal(String(loaded.forward(IDS)), expected)
  loaded.dispose()
})

test('nothing is drawn from the generator', async () => {
  gpt.manualSeed(5)
  const loaded = await gpt.GPTModel.fromPretrained(file)
  const drawn = String(gpt.randn([3]))
  gpt.manualSeed(5)
  assert.equal(drawn, String(gpt.randn([3])))
  loaded.dispose()
})

test('a subclass loads itself, with the parameters that it adds', async () => {
  class Scaled extends gpt.GPTModel {
    /** @param {ConstructorParameters<typeof gpt.GPTModel>[0]} config */
    constructor(config) {
      super(config)
      this.factor = gpt.ones([1])
      this.extra = new gpt.Linear(2, 3)
    }
  }
  const extra = [
    entryOf('factor', [1], new Float32Array([3])),
    entryOf('extra.weight', [3, 2], new Float32Array(6).fill(2)),
    entryOf('extra.bias', [3], new Float32Array(3).fill(1)),
  ]
  const loaded = await Scaled.fromPretrained(fileOf([...gpt2Entries(model), ...extra]))
  assert.ok(loaded instanceof Scaled)
  assert.deepEqual([loaded.factor.item(), loaded.extra.weight.data[5]], [3, 2])
  assert.equal(String(loaded.forward(IDS)), expected)
  loaded.dispose()
  await assert.rejects(
    Scaled.fromPretrained(file),
    /source should have factor, extra.weight, extra.bias, got/,
  )
})

test('a parameter has no values while its model loads, and says so', async () => {
  class Eager extends gpt.GPTModel {
    /** @param {ConstructorParameters<typeof gpt.GPTModel>[0]} config */
    constructor(config) {
      super(config)
      this.tokEmb.weight.data.fill(0)
    }
  }
  await assert.rejects(Eager.fromPretrained(file), {
    code: 'DISPOSED',
    message:
      'GPTModel.fromPretrained: the tensor should be live, got one that has no values before the file is read',
  })
})

test('progress is told about a hundred times, at last of all bytes', async () => {
  /** @type {{ loaded: number, total: number }[]} */
  const told = []
  const loaded = await gpt.GPTModel.fromPretrained(streamOf(file, [97]), {
    onProgress: (progress) => told.push(progress),
  })
  loaded.dispose()
  assert.ok(told.length > 3 && told.length <= 101, String(told.length))
  told.forEach(({ loaded, total }, i) => {
    assert.equal(total, file.length)
    assert.ok(i === 0 || loaded > told[i - 1].loaded)
  })
  assert.equal(told.at(-1)?.loaded, file.length)
})

test('an abort rejects with the signal’s reason, cancels the stream and frees the memory', async () => {
  const used = usedMemory(gpt)
  const controller = new AbortController()
  const reason = new Error('enough')
  /** @type {unknown[]} */
  const cancelled = []
  const stream = streamOf(file, [5000], { onCancel: (given) => cancelled.push(given) })
  const loading = gpt.GPTModel.fromPretrained(stream, {
    onProgress: ({ loaded, total }) => loaded > total / 2 && controller.abort(reason),
    signal: controller.signal,
  })
  await assert.rejects(loading, (error) => error === reason)
  assert.deepEqual(cancelled, [reason])
  assert.equal(stream.locked, false)
  assertNothingLeft(gpt, used)

  // A signal that serves many loads keeps nothing of them.
  const serving = new AbortController()
  await gpt.GPTModel.fromPretrained(streamOf(file, [5000]), { signal: serving.signal })
  await assert.rejects(
    gpt.GPTModel.fromPretrained(streamOf(new Uint8Array(9), [9]), { signal: serving.signal }),
  )
  assert.equal(getEventListeners(serving.signal, 'abort').length, 0)

  // A read that never ends.
  const late = new AbortController()
  const silent = new ReadableStream({ pull: () => new Promise(() => late.abort(reason)) })
  await assert.rejects(gpt.GPTModel.fromPretrained(silent, { signal: late.signal }), (e) => e === reason)
  // One that was aborted before: nothing is read.
  const untouched = streamOf(file, [1])
  const early = gpt.GPTModel.fromPretrained(untouched, { signal: AbortSignal.abort(reason) })
  await assert.rejects(early, (error) => error === reason)
  assert.equal(untouched.locked, false)
})

test('a stream is canceled where loading does not even begin', async () => {
  const reason = new Error('enough')
  for (const options of [
    { signal: AbortSignal.abort(reason) },
    { dtype: 'int4' },
    { progress: 1 },
    { config: { heads: 3 } },
    { onProgress: 1 },
  ]) {
    for (const wrap of [(/** @type {any} */ stream) => stream, (/** @type {any} */ s) => new Response(s)]) {
      let cancelled = 0
      const stream = streamOf(file, [5000], { onCancel: () => cancelled++ })
      await assert.rejects(gpt.GPTModel.fromPretrained(wrap(stream), untyped(options)))
      assert.deepEqual([cancelled, stream.locked], [1, false], String(Object.keys(options)))
    }
  }
  let cancelled = 0
  const body = streamOf(file, [5000], { onCancel: () => cancelled++ })
  await assert.rejects(gpt.GPTModel.fromPretrained(new Response(body, { status: 404 })), { code: 'NETWORK' })
  assert.equal(cancelled, 1)
})

test('an abort ends the wait for a source that never answers', async () => {
  const reason = new Error('enough')
  const never = () => new Promise(() => {})
  const blob = { slice: () => ({ arrayBuffer: never }), arrayBuffer: never }
  const handle = { read: never, stat: never }
  const reader = { read: never, cancel: never, releaseLock: () => {} }
  for (const source of [blob, handle, { getReader: () => reader }]) {
    const controller = new AbortController()
    const loading = gpt.GPTModel.fromPretrained(untyped(source), { signal: controller.signal })
    setImmediate(() => controller.abort(reason))
    await assert.rejects(loading, (error) => error === reason)
  }
})

test('every file is canceled where one does not open, and where open is aborted, a late one, too', async () => {
  const reason = new Error('enough')
  /** @type {unknown[]} */
  let cancelled = []
  const stream = () => streamOf(file, [5000], { onCancel: (given) => cancelled.push(given) })
  const missing = new Response(null, { status: 404 })
  await assert.rejects(gpt.GPTModel.fromPretrained({ a: stream(), b: missing, c: stream() }), (error) => {
    assert.deepEqual(cancelled, [error, error])
    return error instanceof GptLayersError && error.code === 'NETWORK'
  })

  cancelled = []
  const index = { weight_map: { x: 'a', y: 'b', z: 'c' } }
  const failing = async (/** @type {string} */ name) => {
    if (name === 'b') throw reason
    return stream()
  }
  await assert.rejects(gpt.GPTModel.fromPretrained({ index, open: failing }), (error) => error === reason)
  assert.deepEqual(cancelled, [reason, reason])

  cancelled = []
  const controller = new AbortController()
  const { signal } = controller
  let answer = (/** @type {ReadableStream} */ _stream) => {}
  const stalled = /** @type {Promise<ReadableStream>} */ (new Promise((resolve) => (answer = resolve)))
  const open = async (/** @type {string} */ name) => (name === 'b' ? stalled : stream())
  const loading = gpt.GPTModel.fromPretrained({ index, open }, { signal })
  setImmediate(() => controller.abort(reason))
  await assert.rejects(loading, (error) => error === reason)
  assert.deepEqual(cancelled, [reason, reason])
  answer(stream())
  await new Promise(setImmediate)
  assert.deepEqual(cancelled, [reason, reason, reason])
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a source that says it has read what it cannot have is refused', async () => {
  for (const bytesRead of [-1, 0.5, NaN, 2 ** 30, '5', undefined]) {
    for (const read of [async () => bytesRead, async () => ({ bytesRead })]) {
      await assertRefusesToLoad(
        { read, stat: async () => ({}) },
        'VALUE',
        /source should read at most the \d+ bytes that it is asked for, got (-1|0\.5|NaN|1073741824|"5"|undefined)$/,
      )
    }
  }
  const blob = (/** @type {unknown} */ part) => ({
    slice: () => ({ arrayBuffer: async () => part }),
    arrayBuffer: async () => part,
  })
  await assertRefusesToLoad(
    blob(file.buffer.slice(0, 70_000)),
    'VALUE',
    /source should read at most the 65536 bytes/,
  )
  await assertRefusesToLoad(
    blob(100),
    'TYPE',
    /a part of source should be a Uint8Array or an ArrayBuffer, got 100/,
  )
})

test('an error in onProgress ends the loading with that error', async () => {
  const used = usedMemory(gpt)
  const mine = new Error('mine')
  const onProgress = () => {
    throw mine
  }
  await assert.rejects(gpt.GPTModel.fromPretrained(file, { onProgress }), (error) => error === mine)
  assertNothingLeft(gpt, used)
})

test('a file that is truncated, too long, foreign or broken is refused, and nothing is left', async () => {
  const entries = gpt2Entries(model)
  const without = (/** @type {string} */ name) => fileOf(entries.filter((entry) => entry.name !== name))
  const cases = /** @type {const} */ ([
    [file.slice(0, 5), 'VALUE', /source should be a safetensors file, got 5 bytes/],
    [file.slice(0, 100), 'VALUE', /100 bytes, with a header that ends at/],
    [file.slice(0, -1), 'VALUE', /got \d+ bytes instead of/],
    [Buffer.concat([file, Buffer.of(0)]), 'VALUE', /got more than \d+ bytes/],
    [Buffer.from('<!doctype html><title>404</title>'), 'VALUE', /one that starts with "<!doctype html>/],
    [
      Buffer.from('GGUF\x03\0\0\0\0\0\0\0\0\0'),
      'VALUE',
      /source should be a safetensors file, got a GGUF file$/,
    ],
    [Buffer.from('800280027d', 'hex'), 'VALUE', /got 5 bytes$/],
    [
      Buffer.from('80028a0a6cfc9c46f920', 'hex'),
      'VALUE',
      /got a pickle, as torch\.save wrote it before PyTorch 1\.6/,
    ],
    [
      gpt.saveSafetensors(new gpt.Linear(2, 3), { names: 'ours' }),
      'VALUE',
      /source should have wte.weight .*, got bias, weight/,
    ],
    [without('wpe.weight'), 'VALUE', /source should have wpe.weight/],
    [without('ln_f.bias'), 'VALUE', /source should have final_norm.shift, got/],
    [without('h.1.ln_2.bias'), 'VALUE', /should have trf_blocks.1.norm2.shift, got/],
    [without('h.0.mlp.c_fc.bias'), 'VALUE', /trf_blocks.0.ff.layers.0.bias, got/],
    [without('h.0.attn.c_proj.bias'), 'VALUE', /trf_blocks.0.attn.c_proj.bias, got/],
    [fileOf([...entries, entryOf('more', [1], new Float32Array(1))]), 'VALUE', /got more/],
    [
      fileOf(entries.map((e) => (e.name === 'ln_f.bias' ? { ...e, shape: [2, 32] } : e))),
      'SHAPE',
      /\[2, 32\]/,
    ],
  ])
  for (const [bytes, code, message] of cases) {
    await assertRefusesToLoad(bytes, code, message)
    await assertRefusesToLoad(streamOf(bytes, [777]), code, message)
  }
})

test('a name of very many parts is refused in words', async () => {
  for (const part of ['module.', '_orig_mod.', 'a.', '.']) {
    const name = part.repeat(20_000)
    const renamed = gpt2Entries(model).map((entry) => ({ ...entry, name: name + entry.name }))
    const message = /^GPTModel.fromPretrained: source should have wte.weight or tok_emb.weight /
    await assertRefusesToLoad(fileOf(renamed), 'VALUE', message)
  }
})

test('a source that cannot be read is refused in words', async () => {
  const locked = new Blob([file]).stream()
  locked.getReader()
  const failing = new ReadableStream({
    pull(controller) {
      controller.error(new Error('connection lost'))
    },
  })
  const strings = new ReadableStream({
    pull(controller) {
      controller.enqueue('text')
    },
  })
  const handle = await open(join(folder, 'closed'), 'w+')
  await handle.close()
  const cases = /** @type {const} */ ([
    [
      'model.safetensors',
      'TYPE',
      /source should give the bytes: fromPretrained\(await fetch\(url\)\) .* got "model.safetensors"/,
    ],
    [undefined, 'TYPE', /got undefined/],
    [fetch, 'TYPE', /got function fetch/],
    [new Response('not found', { status: 404 }), 'NETWORK', /a status from 200 to 299, got 404/],
    [new Response(null), 'VALUE', /a response with a body/],
    [new Response('<html>', { headers: { 'content-type': 'text/html' } }), 'VALUE', /got a page of HTML/],
    [{}, 'TYPE', /got an object/],
    [{ index: {}, open: () => file }, 'VALUE', /source\.index should have a weight_map/],
    [locked, 'VALUE', /a stream that is locked or was read before/],
    [failing, 'NETWORK', /readable to its end, got connection lost/],
    [strings, 'TYPE', /a chunk of source should be a Uint8Array or an ArrayBuffer, got "text"/],
    [handle, 'VALUE', /readable to its end, got/],
  ])
  for (const [source, code, message] of cases) await assertRefusesToLoad(source, code, message)
  for (const options of [{ onProgress: 1 }, { signal: {} }, { dtype: 1 }]) {
    await assertRefusesToLoad(file, 'TYPE', /should be/, options)
  }
  await assertRefusesToLoad(file, 'VALUE', /options should be among/, { progress: 1 })
  await assertRefusesToLoad(file, 'VALUE', /dtype should be 'float32' or 'int8'/, { dtype: 'int4' })
  const { fromPretrained } = gpt.GPTModel
  await assert.rejects(() => untyped(fromPretrained)(file), { code: 'TYPE' })
})

test('dispose while a file loads ends the loading, and the error names the function', async () => {
  for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
    for (const pulls of [1, 2, 20]) {
      const gone = await loadForTest()
      let pulled = 0
      const source = new ReadableStream(
        {
          pull(controller) {
            if (pulled === pulls) gone.dispose()
            controller.enqueue(file.slice(1000 * pulled, 1000 * ++pulled))
          },
        },
        { highWaterMark: 0 },
      )
      await assert.rejects(gone.GPTModel.fromPretrained(source, { dtype }), {
        code: 'DISPOSED',
        message: 'GPTModel.fromPretrained: gpt-layers should stay loaded, got a dispose() meanwhile',
      })
    }
  }
})

test('dispose and load while a file is read end the loading, and touch no tensor of the new memory', async () => {
  const again = await loadForTest()
  const POINTS = 40
  const size = Math.ceil(file.length / (POINTS - 1)) // at the last point everything has come but the end
  for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
    for (let point = 0; point < POINTS; point++) {
      const what = `${dtype}, before chunk ${point}`
      let [used, ended] = [0, false]
      /** @type {Tensor[]} */
      let mine = []
      async function* source() {
        try {
          for (let i = 0; i < POINTS; i++) {
            if (i === point) {
              again.dispose()
              await again.load()
              mine = Array.from({ length: 300 }, (_, k) => again.full([4], k))
              used = untyped(mine[0]).heap.used
            }
            yield file.slice(i * size, (i + 1) * size)
          }
        } finally {
          ended = true
        }
      }
      await assert.rejects(again.GPTModel.fromPretrained(source(), { dtype }), {
        code: 'DISPOSED',
        message: 'GPTModel.fromPretrained: gpt-layers should stay loaded, got a dispose() meanwhile',
      })
      await new Promise((resolve) => setImmediate(resolve)) // nobody waits until a source is closed
      assert.ok(ended, `${what}: the source is closed`)
      assert.equal(untyped(mine[0]).heap.used, used, `${what}: the bytes in use`)
      const next = again.full([4], -1)
      mine.forEach((tensor, k) => assert.deepEqual([...tensor.data], [k, k, k, k], what))
      next.dispose()
    }
  }
  again.dispose()
})

test('dispose in onProgress ends the loading, after the last byte, too', async () => {
  for (const isLast of [false, true]) {
    const gone = await loadForTest()
    const onProgress = (/** @type {{ loaded: number, total: number }} */ { loaded, total }) => {
      if ((loaded === total) === isLast) gone.dispose()
    }
    await assert.rejects(gone.GPTModel.fromPretrained(file, { onProgress }), {
      code: 'DISPOSED',
      message: 'GPTModel.fromPretrained: gpt-layers should stay loaded, got a dispose() meanwhile',
    })
  }
})

test('dispose and load while a part is opened end the loading', async () => {
  const gone = await loadForTest()
  const open = async () => {
    await null
    gone.dispose()
    await gone.load()
    return file
  }
  const source = { index: { weight_map: { 'tok_emb.weight': 'model.safetensors' } }, open }
  await assert.rejects(gone.GPTModel.fromPretrained(source), {
    code: 'DISPOSED',
    message: 'GPTModel.fromPretrained: gpt-layers should stay loaded, got a dispose() meanwhile',
  })
})

test('without enough memory, loading is refused and nothing is left', async () => {
  const large = newModel({ vocabSize: 9000 })
  const small = await loadForTest({ maxMemory: 2 })
  const used = usedMemory(small)
  await assert.rejects(small.GPTModel.fromPretrained(gpt.saveSafetensors(large, { names: 'ours' })), {
    code: 'MEMORY',
  })
  assertNothingLeft(small, used)
  small.dispose()
  await assert.rejects(small.GPTModel.fromPretrained(file), { code: 'DISPOSED' })
  large.dispose()
})

test('an async iterable is told where loading ends early, and its error comes out', async () => {
  let ended = 0
  async function* endless() {
    try {
      for (;;) yield new Uint8Array(1000).fill(123)
    } finally {
      ended++
    }
  }
  await assertRefusesToLoad(endless(), 'VALUE', /should be a safetensors file/)
  assert.equal(ended, 1)
  async function* failing() {
    yield file.subarray(0, 2000)
    throw new Error('disk full')
  }
  await assertRefusesToLoad(failing(), 'NETWORK', /readable to its end, got disk full/)
  async function* empty() {
    yield new Uint8Array(0)
    yield file
  }
  assertEqual(await gpt.GPTModel.fromPretrained(empty()))
  async function* nothing() {
    for (let i = 0; i < 1e9; i++) yield new Uint8Array(0)
  }
  await assertRefusesToLoad(nothing(), 'VALUE', /source should give bytes, got 1000 empty chunks in a row/)
})

test('an index and a function that opens a name give the same model as the parts by name', async () => {
  const entries = gpt2Entries(model)
  const halves = { a: fileOf(entries.slice(0, 9)), b: fileOf(entries.slice(9)) }
  const index = {
    weight_map: Object.fromEntries(entries.map(({ name }, i) => [name, i < 9 ? 'a' : 'b'])),
  }
  /** @type {string[]} */
  const opened = []
  const open = async (/** @type {string} */ name) => {
    opened.push(name)
    return new Blob([halves[/** @type {'a' | 'b'} */ (name)]])
  }
  for (const source of [halves, { index, open }, { 'model.index.json': new Blob(['{}']), ...halves }]) {
    /** @type {number[]} */
    const told = []
    const loaded = await gpt.GPTModel.fromPretrained(untyped(source), {
      onProgress: ({ loaded, total }) => void told.push(loaded / total),
    })
    assert.equal(String(loaded.forward(IDS)), expected)
    assert.ok(told.every((share, i) => share <= 1 && share >= (told[i - 1] ?? 0)))
    assert.equal(told.at(-1), 1)
    loaded.dispose()
  }
  assert.deepEqual(opened, ['a', 'b'])
  await assertRefusesToLoad({ a: halves.a }, 'VALUE', /source should have /)
  await assertRefusesToLoad({ ...halves, c: halves.a }, 'VALUE', /once, got/)
})

test('the book’s three matrices become int8 as one, as quantize makes them', async () => {
  const original = newModel({ embDim: 40, nHeads: 2, qkvBias: true })
  const book = gpt.saveSafetensors(original, { names: 'book' })
  const loaded = await gpt.GPTModel.fromPretrained(streamOf(book, [999]), { dtype: 'int8' })
  const whole = (await gpt.GPTModel.fromPretrained(book)).quantize()
  assert.deepEqual(
    gpt.saveSafetensors(loaded, { names: 'ours' }),
    gpt.saveSafetensors(whole, { names: 'ours' }),
  )
  whole.loadStateDict(gpt.loadSafetensors(book)) // into int8 weights
  assert.deepEqual(
    gpt.saveSafetensors(whole, { names: 'ours' }),
    gpt.saveSafetensors(loaded, { names: 'ours' }),
  )
  for (const one of [original, loaded, whole]) one.dispose()
})

test('a configuration of config.json, of the book or of nanoGPT means the same as ours', async () => {
  const original = newModel({ embDim: 8, nHeads: 2, approximate: 'none', layerNormEpsilon: 1e-3 })
  const untold = fileOf(gpt2Entries(original), { nHeads: null })
  const wanted = String(original.forward(IDS))
  const hugging = {
    model_type: 'gpt2',
    n_head: 2,
    n_ctx: 7,
    n_positions: 7,
    n_inner: null,
    architectures: ['x'],
  }
  for (const config of [
    { nHeads: 2, approximate: 'none', layerNormEpsilon: 1e-3 },
    { ...hugging, activation_function: 'gelu', layer_norm_epsilon: 1e-3, scale_attn_weights: true },
    {
      n_heads: 2,
      emb_dim: 8,
      context_length: 7,
      drop_rate: 0.1,
      qkv_bias: true,
      approximate: 'none',
      layer_norm_epsilon: 1e-3,
    },
  ]) {
    const loaded = await gpt.GPTModel.fromPretrained(untold, { config })
    assert.equal(String(loaded.forward(IDS)), wanted)
    loaded.dispose()
  }
  for (const [config, message] of /** @type {const} */ ([
    [{ n_head: 2, n_embd: 16 }, /config\.n_embd should be 8, as in the file, got 16$/],
    [{ n_head: 2, bias: false }, /config\.bias should be true, as in the file, got false$/],
    [{ n_head: 2, n_ctx: 6, n_positions: 7 }, /config\.n_positions should be 6, as config\.n_ctx, got 7$/],
    [{ n_head: 2, scale_attn_weights: false }, /config\.scale_attn_weights should be true, got false$/],
    [
      { n_head: 2, scale_attn_by_inverse_layer_idx: true },
      /scale_attn_by_inverse_layer_idx should be false, got true$/,
    ],
    [
      { n_head: 2, activation_function: 'relu' },
      /activation_function should be among gelu_new, .* got "relu"$/,
    ],
    [{ nHeads: 2, heads: 2 }, /config should have names among/],
  ])) {
    await assertRefusesToLoad(untold, 'VALUE', message, { config })
  }
})

test('a square matrix is turned where the file has it the other way, in a replaced layer, too', () => {
  const original = newModel({ embDim: 8, nHeads: 2, nLayers: 1, bias: false })
  const other = newModel({ embDim: 8, nHeads: 2, nLayers: 1, bias: false })
  other.trfBlocks[0].attn.cProj = untyped(new gpt.Linear(8, 8, { bias: false }))
  const wanted = String(original.forward(IDS))
  for (const names of /** @type {const} */ (['gpt2', 'book'])) {
    const entries = gpt.loadSafetensors(gpt.saveSafetensors(original, { names }))
    const dict = Object.fromEntries(
      Object.entries(entries).filter(([name]) => /weight$|scale$/.test(name)), // without the zeros for biases
    )
    other.loadStateDict(dict)
    assert.equal(String(other.forward(IDS)), wanted, names)
  }
  const saved = other.stateDict()
  const copy = Object.fromEntries(Object.entries(saved).map(([name, tensor]) => [name, tensor.clone()]))
  other.loadStateDict(copy) // our own names: as they are
  assert.equal(String(other.forward(IDS)), wanted)
})

test('a matrix that the file has whole and in thirds is refused', async () => {
  const book = gpt.loadSafetensors(gpt.saveSafetensors(newModel(), { names: 'book' }))
  const both = { ...book, 'trf_blocks.0.att.qkv.weight': gpt.zeros([192, 64]) }
  const message = /have trf_blocks\.0\.attn\.c_attn\.weight.? once, got /
  await assertRefusesToLoad(gpt.saveSafetensors(both), 'VALUE', message, { config: { nHeads: 1 } })
})

test('metadata that is no number is refused in words', async () => {
  for (const nHeads of ['1.2.3', '.', '-', '1e', '']) {
    const file = fileOf(gpt2Entries(model), { nHeads: untyped(nHeads) })
    await assertRefusesToLoad(file, 'TYPE', /nHeads should be a positive integer, got "/)
  }
})

test('a small int8 layer loads in 2 MiB of memory', async () => {
  const tiny = await loadForTest({ maxMemory: 2 })
  new tiny.Linear(8, 8)
    .quantize()
    .loadStateDict(tiny.loadSafetensors(gpt.saveSafetensors(new gpt.Linear(8, 8), { names: 'ours' })))
  tiny.dispose()
})
