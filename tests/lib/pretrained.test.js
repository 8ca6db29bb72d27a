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
import { GptLayersError } from 'gpt-layers'
import {
  assertNear,
  assertNothingLeft,
  golden,
  load,
  loadForTest,
  shake,
  untyped,
  usedMemory,
} from './support.js'

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

/** @type {{ ids: number[][], models: Case[], prefixes: { file: string, prefixes: string[] },
 *   tensors: { file: string, tensors: Record<string, Packed> }[],
 *   harmless: { name: string, file: string, tensors: Record<string, Packed> }[], refused: Refused[] }} */
const { ids, models, prefixes, tensors, harmless, refused } = golden('pretrained')

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

/** Pieces of 1 to 97 bytes. @param {Uint8Array} bytes */
function streamOf(bytes) {
  let [begin, size] = [0, 1]
  return new ReadableStream({
    pull(controller) {
      if (begin < bytes.length) controller.enqueue(bytes.slice(begin, begin + size))
      begin += size
      size = (size % 97) + 1
      if (begin >= bytes.length) controller.close()
    },
  })
}

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

/** @param {unknown} error @param {string} code @param {RegExp} message @param {string} [name] */
function assertRefusal(error, code, message, name = '') {
  assert.ok(error instanceof GptLayersError, `${name}: ${error instanceof Error ? error.stack : error}`)
  assert.match(error.message, message, name)
  assert.equal(error.code, code, `${name}: ${error.message}`)
  return true
}

/** The group of each table entry, and what a user may rely on. */
const PROMISES = {
  hf: 'Hugging Face’s GPT-2',
  nanogpt: 'nanoGPT’s checkpoint, which needs no config,',
  mingpt: 'minGPT’s model',
  book: 'the book’s model',
  dtypes: 'float16, bfloat16 and float64 of every dialect',
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

test('two threads and both builds give PyTorch’s logits', async () => {
  for (const build of /** @type {const} */ (['simd', 'relaxed'])) {
    // A Node without relaxed SIMD: builds.test.js runs this file in another one.
    if (build === 'relaxed' && gpt.build !== 'relaxed') continue
    for (const threads of [1, 2]) {
      const instance = await load({ build, threads })
      assert.deepEqual([instance.build, instance.threads], [build, threads])
      for (const entry of models.filter(({ shards }) => !shards)) {
        const model = await fromPretrained(bytesOf(entry.file), optionsOf(entry), instance)
        assertLogits(model, entry.logits, `${entry.name}, ${build}, threads ${threads}`)
        model.dispose()
      }
      instance.dispose()
    }
  }
})

/**
 * The names in a safetensors file's header, changed.
 *
 * @param {Uint8Array} bytes
 * @param {(name: string) => string} rename
 */
function renamed(bytes, rename) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const begin = 8 + Number(view.getBigUint64(0, true))
  const header = JSON.parse(Buffer.from(bytes.subarray(8, begin)).toString())
  const entries = Object.entries(header).map(([name, entry]) => [
    name === '__metadata__' ? name : rename(name),
    entry,
  ])
  const text = Buffer.from(JSON.stringify(Object.fromEntries(entries)))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  return new Uint8Array(Buffer.concat([length, text, bytes.subarray(begin)]))
}

test('whatever stands before every name changes nothing', async () => {
  const { file } = prefixes
  const entry = models.find((one) => one.file === file) ?? assert.fail(`no ${file}`)
  for (const prefix of [...prefixes.prefixes, 'any.thing.']) {
    const bytes = renamed(bytesOf(file), (name) => prefix + name)
    const model = await fromPretrained(streamOf(bytes), optionsOf(entry))
    assertLogits(model, entry.logits, prefix)
    model.dispose()
  }
  const book = models.find((one) => one.file === 'book.safetensors') ?? assert.fail('no book.safetensors')
  for (const prefix of ['_orig_mod.', 'module.']) {
    const bytes = renamed(bytesOf(book.file), (name) => prefix + name)
    const model = await fromPretrained(bytes, optionsOf(book))
    assertLogits(model, book.logits, prefix)
    model.dispose()
  }
  // Some names with a prefix and some without are two models, or none.
  const mixed = renamed(bytesOf(file), (name) => (name.startsWith('h.1.') ? `other.${name}` : name))
  await assert.rejects(fromPretrained(mixed, optionsOf(entry)), (error) =>
    assertRefusal(error, 'VALUE', /other\.h\.1\.|h\.1\./),
  )
})

test('what wraps a layer changes nothing, wherever its name stands', async () => {
  const entries = models.filter(({ file }) =>
    ['hf.safetensors', 'hf_head.safetensors', 'book.safetensors'].includes(file),
  )
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
  for (const entry of entries) {
    for (const rename of renames) {
      const model = await fromPretrained(renamed(bytesOf(entry.file), rename), optionsOf(entry))
      assertLogits(model, entry.logits, rename('h.0.attn.c_attn.weight'))
      model.dispose()
    }
  }
})

test('of several models none is taken where no name says which', async () => {
  const options = { config: { n_head: 3 } }
  const words = 'should have one GPT, or one named model, module or state_dict'
  await assert.rejects(fromPretrained(bytesOf('two_models.pt'), options), (error) =>
    assertRefusal(error, 'VALUE', new RegExp(`${words}, got student.model, teacher.model$`)),
  )
  const entry = models.find(({ file }) => file === 'hf.safetensors') ?? assert.fail()
  const one = Object.entries(gpt.loadSafetensors(bytesOf(entry.file)))
  const masks = (/** @type {string} */ name) => /\.attn\.(masked_)?bias$/.test(name)
  const both = (/** @type {string[]} */ ...names) =>
    untyped(gpt).saveSafetensors(
      Object.fromEntries(
        names.flatMap((path, i) =>
          one.filter(([name]) => !masks(name)).map(([name, x]) => [`${path}.${name}`, x.mul(i + 1)]),
        ),
      ),
    )
  for (const strict of [true, false]) {
    await assert.rejects(fromPretrained(both('ema', 'net'), { ...optionsOf(entry), strict }), (error) =>
      assertRefusal(error, 'VALUE', new RegExp(`${words}, got ema, net$`)),
    )
  }
  const model = await fromPretrained(both('model', 'ema'), { ...optionsOf(entry), strict: false })
  assertLogits(model, entry.logits)
  assert.ok(
    model.ignored.includes('ema.wte.weight') && model.ignored.every((name) => name.startsWith('ema.')),
  )
  model.dispose()
})

test('a tensor that is no weight of a GPT is refused with the words strict: false', async () => {
  const [entry] = models.filter(({ group }) => group === 'strict')
  const options = { config: entry.config }
  await assert.rejects(fromPretrained(bytesOf(entry.file), options), (error) =>
    assertRefusal(error, 'VALUE', /score\.weight[^]*strict: false|strict: false[^]*score\.weight/),
  )
})

test('without its config, a file that does not say its heads is refused', async () => {
  for (const file of ['hf.safetensors', 'pytorch_model.bin', 'mingpt.pt', 'model.pth', 'book.safetensors']) {
    await assert.rejects(fromPretrained(bytesOf(file)), (error) =>
      assertRefusal(error, 'VALUE', /nHeads|n_head/, file),
    )
  }
})

test('a config that contradicts the file is refused, and both values are named', async () => {
  const entries = ['hf.safetensors', 'ckpt.pt', 'model.pth'].map(
    (file) => models.find((one) => one.file === file) ?? assert.fail(`no ${file}`),
  )
  const wrong = [
    { n_embd: 24, n_layer: 2, n_head: 3 },
    { n_layer: 5, n_head: 3 },
    { emb_dim: 12, n_heads: 3, vocab_size: 50257 },
  ]
  const messages = [/24[^]*12|12[^]*24/, /5[^]*1|1[^]*5/, /50,?257[^]*19|19[^]*50,?257/]
  for (const [i, { file }] of entries.entries()) {
    await assert.rejects(fromPretrained(bytesOf(file), { config: wrong[i] }), (error) =>
      assertRefusal(error, 'VALUE', messages[i], file),
    )
  }
  const contradiction = { n_head: 4 }
  await assert.rejects(fromPretrained(bytesOf('ckpt.pt'), { config: contradiction }), (error) =>
    assertRefusal(error, 'VALUE', /4[^]*3|3[^]*4/),
  )
})

test('a field that a fork has added to nanoGPT’s config is refused, and a setting is not', async () => {
  const entries = ['dataclass.pt', 'settings.pt'].map(
    (file) => models.find((one) => one.file === file) ?? assert.fail(`no ${file}`),
  )
  const [dataclass, settings] = entries.map(({ file }) => {
    const text = Buffer.from(bytesOf(file)).toString('latin1').replaceAll('dropout', 'rotary_')
    return new Uint8Array(Buffer.from(text, 'latin1'))
  })
  await assert.rejects(fromPretrained(dataclass), (error) =>
    assertRefusal(error, 'VALUE', /source should have names among n_layer, .* got "rotary_"/),
  )
  const model = await fromPretrained(settings)
  assertLogits(model, entries[1].logits)
  model.dispose()
})

test('a switch of config.json that would change the numbers is refused by its name', async () => {
  const entry = models.find(({ file }) => file === 'hf.safetensors') ?? assert.fail()
  for (const [name, value] of Object.entries({
    scale_attn_by_inverse_layer_idx: true,
    add_cross_attention: true,
    activation_function: 'relu',
  })) {
    const config = { ...entry.config, [name]: value }
    const used = usedMemory(gpt)
    await assert.rejects(fromPretrained(bytesOf(entry.file), { config }), (error) => {
      assert.ok(error instanceof GptLayersError, String(error))
      assert.match(error.message, new RegExp(name))
      return true
    })
    assertNothingLeft(gpt, used)
  }
})

test('loadTorch gives the tensors by name, nested dicts and lists joined with dots', async () => {
  for (const { file, tensors: expected } of tensors) {
    const loaded = await untyped(gpt).loadTorch(bytesOf(file))
    assert.deepEqual(Object.keys(loaded).sort(), Object.keys(expected).sort(), file)
    for (const [name, packed] of Object.entries(expected)) assertValues(loaded[name], packed, name)
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
      for (const [name, packed] of Object.entries(entry.tensors)) assertValues(loaded[name], packed, name)
      for (const tensor of Object.values(loaded)) tensor.dispose()
      assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), names)
    })
  }
})

/** Exact values. @param {any} tensor @param {Packed} packed @param {string} name */
function assertValues(tensor, packed, name) {
  assert.deepEqual(tensor.shape, packed.shape, name)
  const values = new Float32Array(new Uint8Array(Buffer.from(packed.f32 ?? '', 'base64')).buffer)
  assert.deepEqual([...tensor.data], [...values], name)
}

test('a broken or hostile file is refused in words, runs nothing and leaves nothing', async (t) => {
  for (const entry of refused) {
    await t.test(entry.name, async () => {
      const used = usedMemory(gpt)
      const message = new RegExp(entry.message, 'i')
      await assert.rejects(untyped(gpt).loadTorch(decode(entry)), (error) =>
        assertRefusal(error, entry.code, message, 'loadTorch'),
      )
      const config = { n_head: 3 }
      // In a model, names may be refused before values are read.
      for (const source of [decode(entry), streamOf(decode(entry))]) {
        await assert.rejects(fromPretrained(source, { config }), (error) => {
          assert.ok(error instanceof GptLayersError, error instanceof Error ? error.stack : String(error))
          return true
        })
      }
      assertNothingLeft(gpt, used)
    })
  }
})

test('an abort in onProgress is heard where nothing has to be waited for any more', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const { signal } = controller
  const loading = fromPretrained(bytesOf('ckpt.pt'), { signal, onProgress: () => controller.abort(reason) })
  await assert.rejects(loading, (error) => error === reason)
})

test('a file that ends anywhere is refused', async () => {
  const bytes = bytesOf('nanogpt_float16.pt')
  const lengths = Array.from({ length: Math.ceil(bytes.length / 211) }, (_, i) => 211 * i)
  // In the directory of the ZIP archive, at its end.
  for (let length = bytes.length - 120; length < bytes.length; length++) lengths.push(length)
  for (const length of lengths) {
    for (const source of [bytes.slice(0, length), streamOf(bytes.slice(0, length))]) {
      await assert.rejects(fromPretrained(source), (error) => {
        assert.ok(error instanceof GptLayersError, `${length}: ${error}`)
        return true
      })
    }
  }
})

const PYTHON = '/usr/bin/python3'
const hasTorch = () =>
  spawnSync(PYTHON, ['-c', 'import importlib.util as i, sys; sys.exit(i.find_spec("torch") is None)'])
    .status === 0

test('what saveSafetensors writes opens in the book’s and Hugging Face’s PyTorch code', async (t) => {
  if (!hasTorch()) return t.skip('no PyTorch here')
  const config = { vocabSize: 19, contextLength: 8, embDim: 12, nHeads: 3, nLayers: 2 }
  for (const names of /** @type {const} */ (['book', 'gpt2'])) {
    for (const [i, more] of [{}, { tieWeights: true }, { qkvBias: false }].entries()) {
      const model = shake(gpt, new gpt.GPTModel({ ...config, ...more })).eval()
      const path = join(folder, `${names}-${i}.safetensors`)
      writeFileSync(path, untyped(gpt).saveSafetensors(model, { names }))
      const back = fileURLToPath(new URL('../golden/back.py', import.meta.url))
      const { status, stdout, stderr } = spawnSync(PYTHON, [back, path, names], { encoding: 'utf8' })
      assert.equal(status, 0, stderr)
      const { shape, logits } = JSON.parse(stdout)
      const packed = { shape, f64: Buffer.from(Float64Array.from(logits).buffer).toString('base64') }
      assertLogits(model, packed, `${names}, ${JSON.stringify(more)}`)
      model.dispose()
    }
  }
})
