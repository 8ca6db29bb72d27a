// GPTModel.fromPretrained and gpt.loadTorch: files as PyTorch, Hugging Face, nanoGPT, minGPT and the book write
// them give PyTorch's logits; broken and hostile files are refused. tests/golden/pretrained.py made them.

/** @import { GPTModel } from 'gpt-layers' */
/** @import { Gpt } from './support.js' */
/** @import { Packed } from './support.js' */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inflateSync } from 'node:zlib'
import { errorOf } from './rows.js'
import { assertNear, assertSame, golden, loadForTest, shake, untyped } from './support.js'
import { renamed, streamOf } from './tensorfile.js'

/**
 * A file, what to pass with it, and PyTorch's logits.
 *
 * @typedef {object} Case
 * @property {string} group
 * @property {string} name
 * @property {string} file
 * @property {Record<string, unknown> | null} config null: the file says enough
 * @property {string[]} [shards] the files that the index names
 * @property {string[]} [ignored] with `strict: false`
 * @property {Packed} logits
 */

/** @typedef {{ name: string, file: string, code: string, message: string }} Refused */

/** @type {{ ids: number[][], models: Case[], tensors: { file: string, tensors: Record<string, Packed> }[],
 *   harmless: { name: string, file: string, tensors: Record<string, Packed> }[], refused: Refused[] }} */
const { ids, models, tensors, harmless, refused } = golden('pretrained')

const gpt = await loadForTest()
const folder = mkdtempSync(join(tmpdir(), 'gpt-layers-'))
after(() => rmSync(folder, { recursive: true }))

/** Relative to the largest logit. */
const TOLERANCE = 1e-5

/** @param {string} name @returns {Uint8Array<ArrayBuffer>} */
const bytesOf = (name) =>
  new Uint8Array(readFileSync(new URL(`../golden/pretrained/${name}`, import.meta.url)))

/** @param {{ file: string }} entry of the harmless or refused @returns {Uint8Array<ArrayBuffer>} */
const decode = ({ file }) => new Uint8Array(inflateSync(Buffer.from(file, 'base64')))

/**
 * What can be passed for a file: the shards by name, as bytes and as streams, for an index.
 *
 * @param {Case} entry
 * @returns {Record<string, unknown>}
 */
function sourcesOf({ file, shards }) {
  if (!shards) return { bytes: bytesOf(file), 'a stream': streamOf(bytesOf(file)) }
  const each = (/** @type {(bytes: Uint8Array<ArrayBuffer>) => unknown} */ convert) =>
    Object.fromEntries(shards.map((name) => [name, convert(bytesOf(name))]))
  return {
    blobs: each((bytes) => new Blob([bytes])),
    'the other order': Object.fromEntries(Object.entries(each((bytes) => bytes)).reverse()),
    streams: each(streamOf),
  }
}

/**
 * @param {unknown} source
 * @param {object} [options]
 * @param {Gpt} [instance]
 * @returns {Promise<GPTModel & { ignored: string[] }>}
 */
const fromPretrained = (source, options, instance = gpt) =>
  untyped(instance.GPTModel).fromPretrained(source, options)

/** @param {Case} entry @returns {object} */
const optionsOf = ({ config, ignored }) => ({
  ...(config && { config }),
  ...(ignored && { strict: false }),
})

/** @param {GPTModel} model @param {Packed} expected @param {string} [name] */
function assertLogits(model, expected, name) {
  const logits = model.forward(ids)
  assertNear(logits, expected, TOLERANCE, name)
  logits.dispose()
}

/** The group of each table entry, and what a user may rely on. */
const PROMISES = {
  hf: 'Hugging Face’s GPT-2',
  nanogpt: 'nanoGPT’s checkpoint, which needs no config,',
  mingpt: 'minGPT’s model',
  book: 'the book’s model',
  dtypes: 'float16, bfloat16 and float64',
  views: 'what torch.save wrote of views, shared storages and parameters',
  layouts: 'what other versions and options of torch.save wrote',
  shards: 'a model in several files',
  strict: 'with strict: false, a file with more than a GPT',
  beside: 'the model, and not another one beside it,',
}
assert.deepEqual(new Set(models.map(({ group }) => group)), new Set(Object.keys(PROMISES)))

for (const [group, promise] of Object.entries(PROMISES)) {
  test(`${promise} gives PyTorch’s logits, from bytes and from a stream in small pieces`, async (t) => {
    for (const entry of models.filter((one) => one.group === group)) {
      await t.test(`${entry.name}: ${entry.file}`, async () => {
        for (const [kind, source] of Object.entries(sourcesOf(entry))) {
          const model = await fromPretrained(source, optionsOf(entry))
          assertLogits(model, entry.logits, kind)
          assert.equal(model.training, false)
          assert.deepEqual([...model.ignored].sort(), entry.ignored ?? [])
          model.dispose()
        }
      })
    }
  })
}

/** @param {string} file @returns {Case} */
const caseOf = (file) => models.find((one) => one.file === file) ?? assert.fail(`no ${file}`)

/** @param {string} file @param {(name: string) => string} rename */
const renamedFile = (file, rename) => renamed(bytesOf(file), rename, { nHeads: null })

test('whatever stands before every name changes nothing', async () => {
  const before = 'model. transformer. base_model.model. _orig_mod. _orig_mod.module.transformer. any.thing.'
  for (const file of ['hf.safetensors', 'book.safetensors']) {
    for (const prefix of before.split(' ')) {
      const bytes = renamedFile(file, (name) => prefix + name)
      const model = await fromPretrained(streamOf(bytes), optionsOf(caseOf(file)))
      assertLogits(model, caseOf(file).logits, prefix)
      model.dispose()
    }
  }
})

test('what wraps a layer changes nothing, wherever its name stands', async () => {
  const renames = /** @type {((name: string) => string)[]} */ ([
    ...['_orig_mod', '_fsdp_wrapped_module', '_checkpoint_wrapped_module', 'module'].flatMap((wrapper) => [
      (/** @type {string} */ name) => name.replace(/(h|trf_blocks)\.\d+\./, `$&${wrapper}.`),
      (/** @type {string} */ name) => name.replace(/(h|trf_blocks)\./, `$&${wrapper}.`),
      (/** @type {string} */ name) => name.replace(/\.[^.]+$/, `.${wrapper}$&`),
      (/** @type {string} */ name) => `${wrapper}.${name}`.replace(/\.(att|attn)\./, `$&${wrapper}.`),
    ]),
    (name) => `_fsdp_wrapped_module.${name}`.replace(/\.\d+\./, '$&_fsdp_wrapped_module._orig_mod.module.'),
    (name) => `base_model.model.${name}`.replace(/\.(c_attn|W_query)\./, '$&base_layer.'),
  ])
  for (const file of ['hf.safetensors', 'hf_head.safetensors', 'book.safetensors']) {
    for (const rename of renames) {
      const model = await fromPretrained(renamedFile(file, rename), optionsOf(caseOf(file)))
      assertLogits(model, caseOf(file).logits, rename('h.0.attn.c_attn.weight'))
      model.dispose()
    }
  }
})

test('loadStateDict takes what Hugging Face and the book save, with masks, and with or without a head', async () => {
  const files = ['hf.safetensors', 'hf_head.safetensors', 'pytorch_model.bin', 'model.pth', 'model_tied.pth']
  for (const file of [...files, 'book.safetensors', 'model_qkv.pth']) {
    const bytes = bytesOf(file)
    const dict = await (file.endsWith('.safetensors') ? gpt.loadSafetensors(bytes) : gpt.loadTorch(bytes))
    const model = await fromPretrained(bytes, optionsOf(caseOf(file)))
    for (const { data } of model.parameters()) data.fill(0)
    model.loadStateDict(dict)
    assertLogits(model, caseOf(file).logits, file)
  }
})

test('a setting of a training script may have any name', async () => {
  const text = Buffer.from(bytesOf('settings.pt')).toString('latin1').replaceAll('dropout', 'rotary_')
  const model = await fromPretrained(new Uint8Array(Buffer.from(text, 'latin1')))
  assertLogits(model, caseOf('settings.pt').logits)
  model.dispose()
})

test('loadTorch gives the tensors by name, nested dicts and lists joined with dots', async () => {
  for (const { file, tensors: expected } of tensors) {
    const loaded = await untyped(gpt).loadTorch(bytesOf(file))
    assert.deepEqual(Object.keys(loaded).sort(), Object.keys(expected).sort(), file)
    for (const [name, packed] of Object.entries(expected)) assertSame(loaded[name], packed)
    for (const tensor of Object.values(loaded)) untyped(tensor).dispose()
  }
  // names.pt has __proto__.weight and constructor.prototype.weight.
  assert.equal(untyped({}).weight, undefined)
})

test('objects of Python that nobody needs are left out, and nothing is called', async (t) => {
  const names = Object.getOwnPropertyNames(Object.prototype).join()
  for (const entry of harmless) {
    await t.test(entry.name, async () => {
      const loaded = await gpt.loadTorch(decode(entry))
      assert.deepEqual(Object.keys(loaded).sort(), Object.keys(entry.tensors).sort())
      for (const [name, packed] of Object.entries(entry.tensors)) assertSame(loaded[name], packed)
      for (const tensor of Object.values(loaded)) tensor.dispose()
      assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), names)
    })
  }
})

test('a broken or hostile file is refused in words, runs nothing and leaves nothing', async (t) => {
  for (const entry of refused) {
    await t.test(entry.name, async () => {
      const { code, message } = await errorOf(gpt, () => gpt.loadTorch(decode(entry)))
      const isWhole = / should |^needs /.test(entry.message)
      const text = isWhole ? entry.message : `bytes should be a file of torch.save, got ${entry.message}`
      assert.deepEqual([code, message], [entry.code, `loadTorch: ${text}`])
      // In a model, names may be refused before values are read.
      for (const source of [decode(entry), streamOf(decode(entry))])
        await errorOf(gpt, () => fromPretrained(source, { config: { n_head: 3 } }))
    })
  }
})

test('a file that ends anywhere is refused', async () => {
  const bytes = bytesOf('build.pt')
  const lengths = Array.from({ length: Math.ceil(bytes.length / 211) }, (_, i) => 211 * i)
  // In the directory of the ZIP archive, at its end.
  for (let length = bytes.length - 120; length < bytes.length; length++) lengths.push(length)
  for (const length of lengths) {
    for (const source of [bytes.slice(0, length), streamOf(bytes.slice(0, length))])
      await errorOf(gpt, () => fromPretrained(source))
  }
})

const PYTHON = '/usr/bin/python3'
const hasTorch = () =>
  spawnSync(PYTHON, ['-c', 'import importlib.util as i, sys; sys.exit(i.find_spec("torch") is None)'])
    .status === 0

test('what saveSafetensors writes opens in the book’s and Hugging Face’s PyTorch code', async (t) => {
  if (!hasTorch()) return t.skip('no PyTorch here')
  const config = { vocabSize: 19, contextLength: 7, embDim: 12, nHeads: 3, nLayers: 2 }
  const written = /** @type {const} */ (['book', 'gpt2']).flatMap((names) =>
    [{}, { tieWeights: true }, { qkvBias: false }].map((more, i) => {
      const model = shake(gpt, new gpt.GPTModel({ ...config, ...more })).eval()
      const path = join(folder, `${names}-${i}.safetensors`)
      writeFileSync(path, untyped(gpt).saveSafetensors(model, { names }))
      return { model, path, names, what: `${names}, ${JSON.stringify(more)}` }
    }),
  )
  const back = fileURLToPath(new URL('../golden/back.py', import.meta.url))
  const args = written.flatMap(({ path, names }) => [path, names])
  const { status, stdout, stderr } = spawnSync(PYTHON, [back, ...args], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const read = stdout.trim().split('\n')
  assert.equal(read.length, written.length)
  for (const [i, { model, what }] of written.entries()) {
    const { shape, logits } = JSON.parse(read[i])
    const packed = { shape, f64: Buffer.from(Float64Array.from(logits).buffer).toString('base64') }
    assertLogits(model, packed, what)
    model.dispose()
  }
})
