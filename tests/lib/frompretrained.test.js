// GPTModel.fromPretrained: what a file, config and dtype lead to, progress, aborts, and that a failure leaves
// nothing behind. Which files and sources it reads and refuses is in files.test.js.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from './support.js' */

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { GptLayersError } from 'gpt-layers'
import { assertNothingLeft, loadForTest, shake, untyped, usedMemory } from './support.js'
import { entriesOf, entryOf, fileOf, json, renamed, streamOf } from './tensorfile.js'

const gpt = await loadForTest()
const CONFIG = { vocabSize: 19, contextLength: 7, embDim: 64, nHeads: 1, nLayers: 2, tieWeights: true }
const IDS = [
  [3, 18, 0, 7],
  [1, 1, 4, 5],
]

/** @param {object} [config] */
const newModel = (config) => shake(gpt, new gpt.GPTModel({ ...CONFIG, ...config })).eval()

const model = newModel()
const expected = String(model.forward(IDS))
const file = gpt.saveSafetensors(model)
const untold = fileOf(entriesOf(file), { nHeads: null })

const DISPOSED = {
  code: 'DISPOSED',
  message: 'GPTModel.fromPretrained: gpt-layers should stay loaded, got a dispose() meanwhile',
}

/** @param {import('gpt-layers').Module} one @returns {Uint8Array} its values, under our names */
const ours = (one) => gpt.saveSafetensors(one, { names: 'ours' })

test('a disposed instance reads nothing of a source', async () => {
  const gone = await loadForTest()
  const Model = gone.GPTModel
  gone.dispose()
  const read = async () => assert.fail('the source was read')
  await assert.rejects(Model.fromPretrained(untyped({ read, stat: read })), { code: 'DISPOSED' })
})

test('with dtype int8 the matrices are quantized on the way, as quantize does', async () => {
  for (const tieWeights of [true, false]) {
    const original = newModel({ tieWeights, embDim: 72, nHeads: 4, hiddenDim: 100 })
    const files = [gpt.saveSafetensors(original), ours(original)]
    const quantized = ours(original.quantize())
    for (const source of [...files, streamOf(files[0], [999])]) {
      const loaded = await gpt.GPTModel.fromPretrained(source, { dtype: 'int8' })
      assert.deepEqual(ours(loaded), quantized)
      loaded.dispose()
    }
    original.dispose()
  }
})

test('a file of int8 weights loads as int8, to the bit, with any groups and its number of heads', async () => {
  for (const groupSize of [12, 64, Infinity]) {
    const original = newModel({ embDim: 72, nHeads: 4 }).quantize({ groupSize })
    const bytes = ours(original)
    for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
      const loaded = await gpt.GPTModel.fromPretrained(streamOf(bytes, [5000]), { dtype })
      assert.equal(loaded.trfBlocks[0].attn.nHeads, 4)
      assert.deepEqual(ours(loaded), bytes)
      loaded.dispose()
    }
    original.dispose()
  }
})

test('values and scales of int8 may come in any order, and under GPT-2’s names', async () => {
  const original = newModel().quantize()
  const entries = entriesOf(
    renamed(ours(original), (name) =>
      name.replace('ff.layers.0', 'mlp.c_fc').replace('ff.layers.2', 'mlp.c_proj'),
    ),
  )
  for (const order of [entries, [...entries].reverse()]) {
    const loaded = await gpt.GPTModel.fromPretrained(fileOf(order))
    assert.equal(String(loaded.forward(IDS)), String(original.forward(IDS)))
    loaded.dispose()
  }
})

test('of tied weights that the file has twice the first wins with dtype int8', async () => {
  const bytes = fileOf([...entriesOf(file), entryOf('lm_head.weight', [19, 64], 1)])
  const [once, twice] = [
    await gpt.GPTModel.fromPretrained(file, { dtype: 'int8' }),
    await gpt.GPTModel.fromPretrained(bytes, { dtype: 'int8', config: { tieWeights: true } }),
  ]
  assert.equal(twice.tokEmb.int8Weight, twice.outHead.int8Weight)
  assert.deepEqual(ours(twice), ours(once))
  for (const one of [once, twice]) one.dispose()
})

test('config adds what the file does not say', async () => {
  const config = { nHeads: 4, dropRate: 0.25, approximate: 'none', vocabSize: 19 }
  const loaded = await gpt.GPTModel.fromPretrained(untold, { config })
  const [{ attn, ff }] = loaded.trfBlocks
  assert.deepEqual([attn.nHeads, attn.dropRate, untyped(ff.layers[1]).approximate], [4, 0.25, 'none'])
  loaded.dispose()
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
  const seen = new Error('the configuration is known')
  class Probe extends gpt.GPTModel {
    /** @param {ConstructorParameters<typeof gpt.GPTModel>[0]} config */
    constructor(config) {
      super({ vocabSize: 1, contextLength: 1, embDim: 1, nHeads: 1, nLayers: 1 })
      throw Object.assign(seen, { config })
    }
  }
  const source = new Blob([json(Object.fromEntries(header))])
  const error = await Probe.fromPretrained(source, { config }).catch((error) => error)
  if (error !== seen) throw error
  return Reflect.get(seen, 'config')
}

test('hiddenDim is the one of config where the file has no feed-forward layer, as a subclass’s', async () => {
  assert.equal((await configFor([768, 12], { hiddenDim: 5 })).hiddenDim, 5)
})

test('the heads of OpenAI’s four GPT-2s are known, and of no model that is like one', async () => {
  const unknown = (/** @type {number[]} */ [embDim, nLayers, vocabSize = 50257, contextLength = 1024]) => ({
    message: `GPTModel.fromPretrained: config.nHeads should be given for a file that does not say it, unless its sizes are those of OpenAI's GPT-2s, got none for vocabSize ${vocabSize}, contextLength ${contextLength}, embDim ${embDim}, nLayers ${nLayers}`,
  })
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
      await assert.rejects(configFor(other), unknown(other))
  }
  await assert.rejects(configFor([768, 24]), unknown([768, 24]))
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
  const extra = [entryOf('factor', [1], 3), entryOf('extra.weight', [3, 2], 2), entryOf('extra.bias', [3], 1)]
  const loaded = await Scaled.fromPretrained(fileOf([...entriesOf(file), ...extra]))
  assert.ok(loaded instanceof Scaled)
  assert.deepEqual([loaded.factor.item(), loaded.extra.weight.data[5]], [3, 2])
  assert.equal(String(loaded.forward(IDS)), expected)
  loaded.dispose()
  await assert.rejects(
    Scaled.fromPretrained(file),
    /source should have factor, extra.weight, extra.bias, got/,
  )
})

test('a file of a model with another norm says the number of heads', async () => {
  class Normed extends gpt.GPTModel {
    finalNorm = new gpt.RMSNorm(6)
  }
  const own = new Normed({ ...CONFIG, embDim: 6, nHeads: 3 }).eval()
  const loaded = await Normed.fromPretrained(ours(own))
  assert.equal(String(loaded.forward(IDS)), String(own.forward(IDS)))
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
  const { signal } = new AbortController()
  const loaded = await gpt.GPTModel.fromPretrained(streamOf(file, [97]), {
    onProgress: (progress) => told.push(progress),
    signal,
  })
  loaded.dispose()
  assert.equal(getEventListeners(signal, 'abort').length, 0)
  assert.ok(told.length > 3 && told.length <= 101, String(told.length))
  told.forEach(({ loaded, total }, i) => {
    assert.equal(total, file.length)
    assert.ok(i === 0 || loaded > told[i - 1].loaded)
  })
  assert.equal(told.at(-1)?.loaded, file.length)
})

// ---- Loading that ends early

const reason = new Error('enough')
const checkpoint = readFileSync(new URL('../golden/pretrained/ckpt.pt', import.meta.url))
const [a, b] = [fileOf(entriesOf(file).slice(0, 9)), fileOf(entriesOf(file).slice(9))]
const index = { weight_map: { x: 'a', y: 'b' } }

/** @type {Record<string, (open: (bytes: Uint8Array) => ReadableStream) => unknown>} */
const SOURCES = {
  bytes: () => file,
  'bytes of torch.save, all there at once': () => checkpoint,
  'a stream': (open) => open(file),
  'a Response': (open) => new Response(open(file)),
  'an async iterable': (open) => ({ [Symbol.asyncIterator]: () => open(file)[Symbol.asyncIterator]() }),
  'parts by name': (open) => ({ a: open(a), b: open(b) }),
  'parts that an index names': (open) => ({
    index,
    open: async (/** @type {string} */ name) => open(name === 'a' ? a : b),
  }),
}

/** @param {number} share of the bytes @param {() => void} end called when more are there */
const beyond = (share, end) => ({
  onProgress: (/** @type {{ loaded: number, total: number }} */ { loaded, total }) => {
    if (loaded / total > share) end()
  },
})

/**
 * What ends a loading: the options beside a signal, and the error.
 *
 * @type {Record<string, [(own: Gpt, controller: AbortController) => object, object]>}
 */
const ENDS = {
  'an abort before it begins': [() => ({ signal: AbortSignal.abort(reason) }), reason],
  'an abort half way': [(_, controller) => beyond(0.5, () => controller.abort(reason)), reason],
  'an error in onProgress': [() => beyond(0.5, () => assert.fail(reason)), reason],
  'dispose half way': [(own) => beyond(0.5, own.dispose), DISPOSED],
  'dispose after the last byte': [(own) => beyond(0.999, own.dispose), DISPOSED],
  'a dtype that does not exist': [() => ({ dtype: 'int4' }), { code: 'VALUE' }],
  'an option that does not exist': [() => ({ progress: 1 }), { code: 'VALUE' }],
  'an onProgress that is no function': [() => ({ onProgress: 1 }), { code: 'TYPE' }],
  'a config of another model': [() => ({ config: { vocabSize: 20 } }), { code: 'VALUE' }],
}

for (const [what, [optionsFor, expected]] of Object.entries(ENDS)) {
  test(`${what} ends the loading: the source is closed, and nothing is left`, async () => {
    for (const [kind, sourceOf] of Object.entries(SOURCES)) {
      const own = expected === DISPOSED ? await loadForTest() : gpt
      const used = usedMemory(own)
      const controller = new AbortController()
      /** @type {ReadableStream[]} */
      const opened = []
      /** @type {unknown[]} */
      const cancelled = []
      const source = sourceOf((bytes) => {
        opened.push(streamOf(bytes, [5000], (given) => cancelled.push(given)))
        return opened[opened.length - 1]
      })
      const { signal } = controller
      const options = { signal, dtype: /** @type {const} */ ('int8'), ...optionsFor(own, controller) }
      const loading = own.GPTModel.fromPretrained(untyped(source), options)
      const error = await loading.then(() => assert.fail(`${kind}: it was loaded`)).catch((error) => error)
      if (expected === reason) assert.equal(error, reason, kind)
      else await assert.rejects(loading, expected, kind)
      await new Promise(setImmediate) // nobody waits until a source is closed
      for (const stream of opened) {
        assert.equal(stream.locked, false, kind)
        assert.equal((await stream.getReader().read()).done, true, `${kind} is at its end, or cancelled`)
      }
      if (kind !== 'an async iterable') for (const given of cancelled) assert.equal(given, error, kind)
      assert.equal(getEventListeners(options.signal, 'abort').length, 0, kind)
      if (own === gpt) assertNothingLeft(gpt, used)
    }
  })
}

test('an abort, also one from before, ends the wait for a source that never answers', async () => {
  const never = () => new Promise(() => {})
  const blob = { slice: () => ({ arrayBuffer: never }), arrayBuffer: never }
  const handle = { read: never, stat: never }
  const reader = { read: never, cancel: never, releaseLock: () => {} }
  const stream = () => new ReadableStream({ pull: never })
  for (const sourceOf of [() => blob, () => handle, () => ({ getReader: () => reader }), stream]) {
    for (const before of [true, false]) {
      const controller = new AbortController()
      const abort = () => controller.abort(reason)
      if (before) abort()
      else setImmediate(abort)
      const loading = gpt.GPTModel.fromPretrained(untyped(sourceOf()), { signal: controller.signal })
      await assert.rejects(loading, (error) => error === reason)
    }
  }
})

test('every file is canceled where one does not open, and where open is aborted, a late one, too', async () => {
  /** @type {unknown[]} */
  let cancelled = []
  const stream = () => streamOf(file, [5000], (given) => cancelled.push(given))
  const missing = new Response(stream(), { status: 404 })
  await assert.rejects(gpt.GPTModel.fromPretrained({ a: stream(), b: missing, c: stream() }), (error) => {
    assert.deepEqual(cancelled, [undefined, error, error])
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

test('dispose while a file is read ends the loading, and touches no tensor of the memory that load makes then', async () => {
  const again = await loadForTest()
  const POINTS = 40
  const size = Math.ceil(file.length / (POINTS - 1)) // at the last point everything has come but the end
  for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
    for (let point = 0; point < 2 * POINTS; point++) {
      const what = `${dtype}, point ${point}`
      const reloads = point < POINTS
      let ended = false
      async function* source() {
        try {
          for (let i = 0; i < POINTS; i++) {
            if (i === point % POINTS) {
              again.dispose()
              if (reloads) await prepare()
            }
            yield file.slice(i * size, (i + 1) * size)
          }
        } finally {
          ended = true
        }
      }
      /** @type {Tensor[]} */
      let mine = []
      let used = 0
      async function prepare() {
        await again.load()
        mine = Array.from({ length: 300 }, (_, k) => again.full([4], k))
        used = untyped(again.Tensor).live(mine[0]).memory.used
      }
      await assert.rejects(again.GPTModel.fromPretrained(source(), { dtype }), DISPOSED)
      await new Promise((resolve) => setImmediate(resolve)) // nobody waits until a source is closed
      assert.ok(ended, `${what}: the source is closed`)
      if (!reloads) await prepare()
      assert.equal(untyped(again.Tensor).live(mine[0]).memory.used, used, `${what}: the bytes in use`)
      const next = again.full([4], -1)
      mine.forEach((tensor, k) => assert.deepEqual([...tensor.data], [k, k, k, k], what))
      next.dispose()
    }
  }
  again.dispose()
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
  await assert.rejects(gone.GPTModel.fromPretrained(source), DISPOSED)
})

test('without enough memory, loading is refused and nothing is left', async () => {
  const large = newModel({ vocabSize: 9000 })
  const small = await loadForTest({ maxMemory: 2 })
  const used = usedMemory(small)
  await assert.rejects(small.GPTModel.fromPretrained(ours(large)), {
    code: 'MEMORY',
  })
  assertNothingLeft(small, used)
  small.dispose()
  await assert.rejects(small.GPTModel.fromPretrained(file), { code: 'DISPOSED' })
  large.dispose()
})

test('the book’s three matrices become int8 as one, as quantize makes them', async () => {
  const original = newModel({ embDim: 40, nHeads: 2, qkvBias: true })
  const book = gpt.saveSafetensors(original, { names: 'book' })
  const loaded = await gpt.GPTModel.fromPretrained(streamOf(book, [999]), { dtype: 'int8' })
  const whole = (await gpt.GPTModel.fromPretrained(book)).quantize()
  assert.deepEqual(ours(loaded), ours(whole))
  whole.loadStateDict(gpt.loadSafetensors(book)) // into int8 weights
  assert.deepEqual(ours(whole), ours(loaded))
  for (const one of [original, loaded, whole]) one.dispose()
})

test('a square matrix is turned where the file has it the other way, in a replaced layer, too', () => {
  const original = newModel({ embDim: 8, nHeads: 2, nLayers: 1, bias: false })
  const other = newModel({ embDim: 8, nHeads: 2, nLayers: 1, bias: false })
  other.trfBlocks[0].attn.cProj = untyped(new gpt.Linear(8, 8, { bias: false }))
  const wanted = original.forward(IDS)
  const isWanted = () => gpt.allclose(other.forward(IDS), wanted, { atol: 1e-7 }) // Linear adds in another order
  for (const names of /** @type {const} */ (['gpt2', 'book'])) {
    const entries = gpt.loadSafetensors(gpt.saveSafetensors(original, { names }))
    const dict = Object.fromEntries(
      Object.entries(entries).filter(([name]) => /weight$|scale$/.test(name)), // without the zeros for biases
    )
    other.loadStateDict(dict)
    assert.ok(isWanted(), names)
  }
  const saved = other.stateDict()
  const copy = Object.fromEntries(Object.entries(saved).map(([name, tensor]) => [name, tensor.clone()]))
  other.loadStateDict(copy) // our own names: as they are
  assert.ok(isWanted())
})

test('a small int8 layer loads in 2 MiB of memory', async () => {
  const tiny = await loadForTest({ maxMemory: 2 })
  new tiny.Linear(8, 8).quantize().loadStateDict(tiny.loadSafetensors(ours(untyped(new gpt.Linear(8, 8)))))
  tiny.dispose()
})
