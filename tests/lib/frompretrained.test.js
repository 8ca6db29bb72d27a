// GPTModel.fromPretrained: what a file, config and dtype lead to, progress, aborts, and that a failure leaves
// nothing behind. Which files and sources it reads and refuses is in files.test.js.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
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
  const stream = streamOf(file, [5000], (given) => cancelled.push(given))
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
      const stream = streamOf(file, [5000], () => cancelled++)
      await assert.rejects(gpt.GPTModel.fromPretrained(wrap(stream), untyped(options)))
      assert.deepEqual([cancelled, stream.locked], [1, false], String(Object.keys(options)))
    }
  }
  let cancelled = 0
  const body = streamOf(file, [5000], () => cancelled++)
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
  const stream = () => streamOf(file, [5000], (given) => cancelled.push(given))
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

test('an error in onProgress ends the loading with that error', async () => {
  const used = usedMemory(gpt)
  const mine = new Error('mine')
  const onProgress = () => {
    throw mine
  }
  await assert.rejects(gpt.GPTModel.fromPretrained(file, { onProgress }), (error) => error === mine)
  assertNothingLeft(gpt, used)
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

test('dispose in onProgress ends the loading, after the last byte, too', async () => {
  for (const isLast of [false, true]) {
    const gone = await loadForTest()
    const onProgress = (/** @type {{ loaded: number, total: number }} */ { loaded, total }) => {
      if ((loaded === total) === isLast) gone.dispose()
    }
    await assert.rejects(gone.GPTModel.fromPretrained(file, { onProgress }), DISPOSED)
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

test('an async iterable is told where loading ends early', async () => {
  let ended = 0
  async function* endless() {
    try {
      for (;;) yield new Uint8Array(1000).fill(123)
    } finally {
      ended++
    }
  }
  await assert.rejects(gpt.GPTModel.fromPretrained(endless()), { code: 'VALUE' })
  assert.equal(ended, 1)
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
