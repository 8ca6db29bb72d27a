// Files by the sources that give them: every source gives the same model, and every bad file of files.js is
// refused in the same words, whatever gives it.

/** @import { FileSource } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { createReadStream, readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { BROKEN, DICTS, REFUSED } from './files.js'
import { assertError, callOf, errorOf, rowsOf } from './rows.js'
import { inheriting, loadForTest, shake, untyped } from './support.js'
import { entriesOf, entry, entryOf, fileOf, json, renamed, streamOf } from './tensorfile.js'

const gpt = await loadForTest()
const folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
after(() => rmSync(folder, { recursive: true }))

const CONFIG = { vocabSize: 19, contextLength: 7, embDim: 64, nHeads: 1, nLayers: 2, tieWeights: true }
const IDS = [3, 18, 0, 7]
const model = shake(gpt, new gpt.GPTModel(CONFIG)).eval()
const expected = String(model.forward(IDS))
/** @param {Uint8Array} file of Hugging Face's layout and names @returns it without their prefix */
const gpt2Names = (file) => renamed(file, (name) => name.replace('transformer.', ''))
const gpt2 = gpt2Names(gpt.saveSafetensors(model))
const path = join(folder, 'model.safetensors')
writeFileSync(path, gpt2)
const closedHandle = await open(path)
await closedHandle.close()

/** @param {string} name of a file in tests/golden/pretrained */
const read = (name) => readFileSync(new URL(`../golden/pretrained/${name}`, import.meta.url))

/** @param {Uint8Array} bytes what an open file of Node gives, half of what it is asked for */
const handleOf = (bytes) => ({
  stat: async () => ({ size: bytes.length }),
  /** @param {Uint8Array} target @param {number} at @param {number} length @param {number} from */
  async read(target, at, length, from) {
    const bytesRead = Math.min(Math.ceil(length / 2), bytes.length - from)
    target.set(bytes.subarray(from, from + bytesRead), at)
    return { bytesRead }
  },
})

/** @param {Uint8Array} bytes what an open file of Deno gives */
function denoOf(bytes) {
  let at = 0
  return {
    stat: async () => ({}),
    /** @param {Uint8Array} target */
    async read(target) {
      const part = bytes.subarray(at, at + Math.min(target.length, 1000))
      target.set(part)
      at += part.length
      return part.length || null
    },
  }
}

/** @param {Uint8Array} bytes */
async function* chunksOf(bytes) {
  yield new Uint8Array(0)
  for (let i = 0; i < bytes.length; i += 777) yield bytes.subarray(i, i + 777)
}

const halves = [entriesOf(gpt2).slice(0, 9), entriesOf(gpt2).slice(9)]
const [a, b] = halves.map((half) => fileOf(half))
const index = {
  weight_map: Object.fromEntries(halves.flatMap((half, i) => half.map(({ name }) => [name, 'ab'[i]]))),
}
const handle = await open(path)
after(() => handle.close())

/** Everything that a model can be read from. @type {Record<string, () => FileSource | object>} */
const SOURCES = {
  bytes: () => gpt2,
  'bytes inside a buffer': () => Buffer.concat([Buffer.alloc(3), gpt2]).subarray(3),
  'an ArrayBuffer': () => gpt2.buffer,
  'an array of another realm': () => runInNewContext('(bytes) => new Uint8Array(bytes)')(gpt2),
  'a Blob': () => new Blob([gpt2]),
  'a Response': () => new Response(gpt2),
  'a stream of a Blob': () => new Blob([gpt2]).stream(),
  'a stream of 1000 bytes at a time': () => streamOf(gpt2, [1000]),
  'a stream of chunks of all sizes': () => streamOf(gpt2, [1, 0, 7, 4099]),
  'a stream of one chunk': () => streamOf(gpt2, [gpt2.length]),
  'a Readable of Node': () => createReadStream(path),
  'an async iterable': () => chunksOf(gpt2),
  'a file handle': () => handle,
  'the same file handle again': () => handle,
  'a handle that reads in pieces': () => handleOf(gpt2),
  'a Deno.FsFile': () => denoOf(gpt2),
  'one file by its name': () => ({ 'model.safetensors': gpt2 }),
  'parts by name': () => ({ a, b }),
  'parts by name in another order, with their index': () => ({ 'model.index.json': new Blob(['{}']), b, a }),
  'an index and a function that opens a name': () => ({
    index,
    open: async (/** @type {string} */ name) => new Blob([{ a, b }[name] ?? assert.fail(name)]),
  }),
}

for (const [name, source] of Object.entries(SOURCES)) {
  test(`${name} gives the model, and tells its progress up to the last byte`, async () => {
    /** @type {number[]} */
    const told = []
    const given = untyped(source())
    const loaded = await gpt.GPTModel.fromPretrained(given, {
      onProgress: ({ loaded, total }) => void told.push(loaded / total),
    })
    assert.equal(String(loaded.forward(IDS)), expected)
    loaded.dispose()
    assert.ok(
      told.every((share, i) => share <= 1 && share >= (told[i - 1] ?? 0)),
      String(told),
    )
    assert.equal(told.at(-1), 1)
    assert.ok(!given.locked, 'a stream is let go')
  })
}

test('what all objects inherit says nothing about a file', async () => {
  const source = { 'model.safetensors': gpt2 }
  const loaded = await inheriting(['block_size', 'read', 'slice'], () => gpt.GPTModel.fromPretrained(source))
  assert.equal(String(loaded.forward(IDS)), expected)
  loaded.dispose()
})

// ---- What a row of files.js may name

const bytes = (/** @type {number[]} */ ...values) => Uint8Array.from(values)
const book = gpt.saveSafetensors(model, { names: 'book' })
const int8 = gpt.saveSafetensors(shake(gpt, new gpt.GPTModel(CONFIG)).quantize())
const ATTN = 'h.1.attn.c_attn.weight'
/** What a row may name. */
const scope = {
  ...{ Linear: gpt.Linear, saveSafetensors: gpt.saveSafetensors },
  ...{ bytes, json, entry, entriesOf, entryOf, fileOf, gzipSync, read, gpt2, book, int8, ATTN, closedHandle },
  untold: fileOf(entriesOf(gpt2), { nHeads: null }),
  latin: (/** @type {string} */ text) => new Uint8Array(Buffer.from(text, 'latin1')),
  concat: (/** @type {Uint8Array[]} */ ...parts) => new Uint8Array(Buffer.concat(parts)),
  one: (/** @type {object} */ fields, n = 4) => json({ a: entry(0, n, fields) }, n),
  /** @param {Uint8Array} file @param {number[]} values its last bytes */
  last(file, ...values) {
    file.set(values, file.length - values.length)
    return file
  },
  without: (/** @type {string | RegExp} */ name, file = gpt2) =>
    fileOf(
      entriesOf(file).filter((one) => (typeof name === 'string' ? one.name !== name : !name.test(one.name))),
    ),
  /** @param {string} name @param {any} change fields of the entry, or the number that all values become */
  changed(name, change, file = gpt2) {
    const fields = (/** @type {import('./tensorfile.js').Entry} */ one) =>
      typeof change === 'number' ? entryOf(name, one.shape, change) : { ...one, ...change }
    return fileOf(entriesOf(file).map((one) => (one.name === name ? resized(fields(one)) : one)))
  },
  /** @param {any[]} more name, shape and value of each tensor that comes to the others */
  and(...more) {
    const entries = entriesOf(gpt2)
    for (let i = 0; i < more.length; i += 3) entries.push(entryOf(more[i], more[i + 1], more[i + 2]))
    return fileOf(entries)
  },
  renamed: (/** @type {(name: string) => string} */ rename) => renamed(gpt2, rename),
  both: (/** @type {string[]} */ ...paths) =>
    fileOf(paths.flatMap((path) => entriesOf(gpt2).map((one) => ({ ...one, name: `${path}.${one.name}` })))),
  lockedStream() {
    const stream = streamOf(gpt2)
    stream.getReader()
    return stream
  },
  handle: (/** @type {unknown} */ bytesRead) => ({
    read: async () => ({ bytesRead }),
    stat: async () => ({}),
  }),
  deno: (/** @type {unknown} */ read) => ({ read: async () => read, stat: async () => ({}) }),
  blob: (/** @type {unknown} */ part) => ({
    slice: () => ({ arrayBuffer: async () => part }),
    arrayBuffer: async () => part,
  }),
}

/** @param {import('./tensorfile.js').Entry} one @returns an entry whose data has the length that its dtype needs */
function resized(one) {
  const size = one.shape.reduce((product, n) => product * n, 1)
  const bytesOf = { I8: 1, U8: 1, F16: 2 }[one.dtype] ?? 4
  return {
    ...one,
    data: new Uint8Array(Buffer.concat([one.data, Buffer.alloc(4 * size)])).slice(0, bytesOf * size),
  }
}

/** With integers of 8 bits, as bitsandbytes writes them: the scale of each output is its SCB / 127. */
const integers = entriesOf(scope.changed(ATTN, { dtype: 'I8' }))
const bitsandbytes = fileOf([...integers, entryOf('h.1.attn.c_attn.SCB', [192], 127)])

// ---- Good files

/** @param {boolean} tieWeights @returns the output of a model that was quantized after it had loaded */
function int8Output(tieWeights) {
  const twin = new gpt.GPTModel({ ...CONFIG, tieWeights }).eval()
  twin.loadStateDict(gpt.loadSafetensors(gpt2))
  return String(twin.quantize().forward(IDS))
}
const head = entryOf('lm_head.weight', [19, 64], model.tokEmb.weight.data)
const withHead = fileOf([...entriesOf(gpt2), head])
const headOnly = renamed(gpt2, (name) => name.replace('wte', 'lm_head'))
const hugging = {
  model_type: 'gpt2',
  n_head: 1,
  n_ctx: 7,
  n_positions: 7,
  n_inner: null,
  architectures: ['x'],
}

/**
 * Files that give the model: the source, what is passed with it, whether its head is tied, and what is ignored.
 *
 * @type {Record<string, [source: any, options: object, tied: boolean, ignored?: string[]]>}
 */
const GIVEN = {
  'GPT-2 without a prefix': [gpt2, {}, true],
  'GPT-2 with transformer.': [gpt.saveSafetensors(model), {}, true],
  'the book’s': [book, {}, false],
  'a head that equals the embedding': [withHead, {}, false],
  'a head that equals the embedding, tied': [withHead, { config: { tieWeights: true } }, true],
  'no head, not tied': [gpt2, { config: { tieWeights: false } }, false],
  'no head, not tied by a config.json': [gpt2, { config: { ...hugging, tie_word_embeddings: false } }, false],
  'the embedding under the name of the head': [headOnly, {}, true],
  'the same behind module.': [renamed(headOnly, (name) => `module.${name}`), {}, true],
  'a head for two classes': [
    scope.and('lm_head.weight', [2, 64], 9, 'lm_head.bias', [2], 0),
    { strict: false },
    true,
    ['lm_head.bias', 'lm_head.weight'],
  ],
  'a head of another name for two classes': [
    scope.and('out_head.weight', [2, 64], 9),
    { strict: false },
    true,
    ['out_head.weight'],
  ],
  'a model beside an average': [
    scope.both('model', 'ema'),
    { strict: false },
    true,
    entriesOf(gpt2).map(({ name }) => `ema.${name}`),
  ],
  'heads from config': [scope.untold, { config: { nHeads: 1 } }, true],
  'heads from a config.json': [scope.untold, { config: { ...hugging, quantization_config: null } }, true],
  'heads from the book’s config': [
    scope.untold,
    { config: { n_heads: 1, emb_dim: 64, drop_rate: 0.1 } },
    true,
  ],
}

for (const [name, [source, options, tied, ignored = []]] of Object.entries(GIVEN)) {
  test(`${name}: the model is read, in evaluation mode, float32 or int8, and says what it ignored`, async () => {
    for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
      const loaded = await gpt.GPTModel.fromPretrained(source, { ...options, dtype })
      assert.ok(loaded instanceof gpt.GPTModel)
      assert.equal(String(loaded.forward(IDS)), dtype === 'int8' ? int8Output(tied) : expected)
      assert.equal(loaded.tokEmb.weight === loaded.outHead.weight, tied)
      assert.deepEqual([loaded.training, [...loaded.ignored].sort()], [false, ignored])
      loaded.dispose()
    }
  })
}

test('a tied and an untied model load a state dict whose head is the embedding', () => {
  const tied = gpt.saveSafetensors(model, { names: 'ours' })
  for (const tieWeights of [true, false]) {
    for (const file of [gpt2, withHead, book, tied, ...(tieWeights ? [headOnly] : [])]) {
      const other = new gpt.GPTModel({ ...CONFIG, tieWeights }).eval()
      other.loadStateDict(gpt.loadSafetensors(file))
      assert.equal(String(other.forward(IDS)), expected)
      other.dispose()
    }
  }
  assert.ok(!('out_head.weight' in gpt.loadSafetensors(tied)))
})

// ---- What is refused

/** @param {unknown} source @param {object} [options] */
const fromPretrained = (source, options) =>
  errorOf(gpt, () => gpt.GPTModel.fromPretrained(untyped(source), options))

for (const { head, call, code, message } of rowsOf(BROKEN)) {
  test(`refused as a safetensors file: ${head}`, async () => {
    const file = callOf(call, scope)()
    const text = message.startsWith('got ') ? `bytes should be a safetensors file, ${message}` : message
    const error = await errorOf(gpt, () => gpt.loadSafetensors(file))
    assertError(error, { code, message: `loadSafetensors: ${text}` })
    // As a model, names are checked before values are read, and a ZIP archive may be one of torch.save.
    const names = 'source should have wte.weight or tok_emb.weight [vocabSize, embDim], got '
    const source = text.replace('bytes', 'source')
    for (const given of [file, streamOf(file)]) {
      const error = await fromPretrained(given)
      if (message.startsWith('got a ZIP'))
        assert.match(error.message, /should be a file of torch.save, got 10 bytes/)
      else if (error.message.includes(names)) assert.match(head, /data|integer|boolean/)
      else assertError(error, { code, message: `GPTModel.fromPretrained: ${source}` })
    }
  })
}

for (const { head, call, code, message } of rowsOf(REFUSED)) {
  test(`refused as a model: ${head}`, async () => {
    const given = callOf(`[${call}]`, { ...scope, bitsandbytes })
    const text = message.startsWith('GPTModel: ') ? message : `GPTModel.fromPretrained: ${message}`
    const expected = { code, message: text }
    const [source, options] = given()
    assertError(await fromPretrained(source, options), expected)
    if (source instanceof Uint8Array) assertError(await fromPretrained(streamOf(source), options), expected)
  })
}

// ---- State dicts

const SMALL = { vocabSize: 5, contextLength: 4, embDim: 8, nHeads: 2, nLayers: 2, qkvBias: true }
const [linear, int8Linear] = [new gpt.Linear(6, 3), new gpt.Linear(6, 3).quantize({ groupSize: 2 })]
const [tied, untied] = [true, false].map((tieWeights) => new gpt.GPTModel({ ...SMALL, tieWeights }))
const int8Model = new gpt.GPTModel(SMALL).quantize()
class Own extends gpt.Module {
  w = gpt.parameter(gpt.ones([3, 6]))
  table = gpt.ones([3, 6])
}
const gone = gpt.ones([3])
gone.dispose()
const adam = new gpt.AdamW([gpt.parameter(gpt.ones([2])), gpt.ones([3])])
adam.parameters[0].grad = gpt.ones([2])
adam.step()
const dicts = {
  ...{ zeros: gpt.zeros, ones: gpt.ones, full: gpt.full, gone, adam },
  ...{ linear, int8Linear, tied, untied, int8Model, norm: new gpt.LayerNorm(2), own: new Own() },
  beside: Object.assign(new Own(), { linear: new gpt.Linear(1, 1) }),
  biasless: new gpt.GPTModel({ ...SMALL, qkvBias: false }),
  /** Under GPT-2's names. */
  theirs: gpt.loadSafetensors(gpt2Names(gpt.saveSafetensors(untied))),
  good: gpt.loadSafetensors(gpt.saveSafetensors(int8Linear)),
  int8Dict: gpt.loadSafetensors(gpt.saveSafetensors(int8Model)),
}

/** @param {any} one a layer or an optimizer */
const saved = (one) =>
  one === adam ? gpt.saveSafetensors(adam.stateDict()) : gpt.saveSafetensors(one, { names: 'ours' })

for (const { head, call, code, message } of rowsOf(DICTS)) {
  test(`refused by loadStateDict: ${head}`, async () => {
    const [layer, dict, options] = callOf(`[${call}]`, dicts)()
    const before = saved(layer)
    const load = (/** @type {any} */ given) => errorOf(gpt, () => layer.loadStateDict(given, options))
    const expected = { code, message: `${layer.constructor.name}.loadStateDict: ${message}` }
    assertError(await load(dict), expected)
    if (Object.values(dict).every((value) => value instanceof gpt.Tensor && !value.disposed)) {
      const file = gpt.loadSafetensors(gpt.saveSafetensors(dict))
      assertError(await load(file), expected)
      for (const tensor of Object.values(file)) tensor.dispose()
    }
    assert.deepEqual(saved(layer), before)
  })
}
