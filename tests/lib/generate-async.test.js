// generateAsync writes the text of generate in a worker, with shared and with copied weights; it can be ended
// at any time, and leaves nothing behind.

/** @import { ErrorCode, GeneratedToken, Gpt, GPTModel } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { setImmediate as nextTask } from 'node:timers/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { GptLayersError, load } from 'gpt-layers'
import { collectGarbage, until, untyped, usedMemory } from './support.js'

const skip =
  !process.getBuiltinModule && `no workers in Node ${process.version}, which has no getBuiltinModule`

const PATIENCE = 120_000 // ms after which a process that should have ended is killed

const CONFIG = { vocabSize: 96, contextLength: 48, embDim: 24, nHeads: 3, nLayers: 2 }
const PROMPT = [5, 1, 4]

/** The workers that run now. @type {Set<Worker>} */
const workers = new Set()
process.on('worker', (worker) => {
  workers.add(worker)
  worker.once('exit', () => workers.delete(worker))
})

/** @param {Gpt} gpt @param {object} [more] of the config @returns {GPTModel} */
const newModel = (gpt, more) => new gpt.GPTModel({ ...CONFIG, ...more }).eval()

/** @param {AsyncIterable<GeneratedToken>} tokens @returns {Promise<GeneratedToken[]>} */
async function collect(tokens) {
  const all = []
  for await (const token of tokens) all.push(token)
  return all
}

/**
 * For assert.throws and assert.rejects.
 *
 * @param {ErrorCode} code
 * @param {RegExp} message
 */
const ours = (code, message) => (/** @type {unknown} */ error) => {
  assert.ok(error instanceof GptLayersError, `threw ${error}`)
  assert.equal(error.code, code, error.message)
  assert.match(error.message, message)
  return true
}

/** Memory: 1 thread copies the weights, 2 share them. */
const gpts = { 1: await load({ threads: 1 }), 2: await load({ threads: 2 }) }

for (const [threads, gpt] of Object.entries(gpts)) {
  const how = threads === '1' ? 'copied' : 'shared'

  test(
    `with ${how} weights the text is generate's, and the generator goes on from the same place`,
    { skip },
    async () => {
      const options = { maxNewTokens: 12, topK: 20, repetitionPenalty: 1.1 }
      const kinds = [
        newModel(gpt, {}),
        newModel(gpt, { tieWeights: true, qkvBias: false, dropRate: 0.3 }),
        newModel(gpt, { approximate: 'none', hiddenDim: 40 }),
        newModel(gpt, { tieWeights: true }).quantize({ groupSize: 16 }),
        newModel(gpt, {}).quantize(),
      ]
      for (const model of kinds) {
        gpt.manualSeed(3)
        const expected = [...model.generate(PROMPT, options)]
        const after = gpt.rand([]).item()
        gpt.manualSeed(3)
        assert.deepEqual(await collect(model.generateAsync(PROMPT, options)), expected)
        assert.equal(gpt.rand([]).item(), after)
        model.dispose()
      }
    },
  )

  test(`with ${how} weights a text ends where generate's does`, { skip }, async () => {
    const model = newModel(gpt)
    const greedy = { temperature: 0 }
    const full = [...model.generate(PROMPT, greedy)]
    assert.equal(full.length, CONFIG.contextLength - PROMPT.length)
    assert.deepEqual(await collect(model.generateAsync(PROMPT, greedy)), full)
    const stop = { ...greedy, stopTokens: [full[4].token] }
    const stopped = [...model.generate(PROMPT, stop)]
    assert.deepEqual(await collect(model.generateAsync(PROMPT, stop)), stopped)
    assert.deepEqual(await collect(model.generateAsync(new Array(48).fill(1), greedy)), [])
    model.dispose()
  })

  test(`with ${how} weights all memory is free after a text, however it ends`, { skip }, async () => {
    const model = newModel(gpt)
    const used = usedMemory(model)
    const free = () => usedMemory(model) === used
    await collect(model.generateAsync(PROMPT, { maxNewTokens: 3 }))
    assert.equal(usedMemory(model), used)
    for await (const { token } of model.generateAsync(PROMPT)) if (token >= 0) break
    assert.equal(usedMemory(model), used)
    const controller = new AbortController()
    const { signal } = controller
    await assert.rejects(async () => {
      for await (const { token } of model.generateAsync(PROMPT, { signal })) controller.abort(token)
    })
    await until(free, 'memory is free after an abort')
    model.dispose()
  })

  test(
    `with ${how} weights an abort before, during and between tokens throws the signal's reason`,
    { skip },
    async (t) => {
      const model = newModel(gpt)
      const reason = new Error('enough')
      const early = model.generateAsync(PROMPT, { signal: AbortSignal.abort(reason) })
      await assert.rejects(early.next(), reason)
      assert.deepEqual(await early.next(), { done: true, value: undefined })

      // In the task in which the worker was asked to start, for the first and for the second token: it cannot
      // have answered yet.
      const { postMessage } = Worker.prototype
      for (const last of [0, 1, 2]) {
        const controller = new AbortController()
        let asked = 0
        /** @this {Worker} @param {Parameters<typeof postMessage>} message */
        const post = function (...message) {
          postMessage.apply(this, message)
          if ('random' in message[0]) asked++
          if (asked === last) controller.abort(reason)
        }
        const { mock } = t.mock.method(Worker.prototype, 'postMessage', post)
        const tokens = model.generateAsync(PROMPT, { signal: controller.signal })
        await assert.rejects(collect(tokens), reason)
        mock.restore()
        assert.equal((await tokens.next()).done, true)
      }

      const controller = new AbortController()
      const tokens = model.generateAsync(PROMPT, { signal: controller.signal })
      await tokens.next()
      controller.abort(reason)
      await nextTask()
      await assert.rejects(tokens.next(), reason)

      const late = new AbortController()
      await collect(model.generateAsync(PROMPT, { maxNewTokens: 1, signal: late.signal }))
      late.abort(reason)
      const text = await collect(model.generateAsync(PROMPT, { maxNewTokens: 2 }))
      assert.equal(text.length, 2)
      model.dispose()
    },
  )

  test(`with ${how} weights two texts at once are those of generate`, { skip }, async () => {
    const model = newModel(gpt)
    const other = newModel(gpt, { embDim: 30 })
    const options = { maxNewTokens: 10, temperature: 0 }
    const texts = [model, other, model].map((m, i) => collect(m.generateAsync([i, 7], options)))
    const expected = [model, other, model].map((m, i) => [...m.generate([i, 7], options)])
    assert.deepEqual(await Promise.all(texts), expected)
    other.dispose()
    model.dispose()
  })

  test(`with ${how} weights a model may be disposed while it writes`, { skip }, async () => {
    const model = newModel(gpt)
    const used = usedMemory(model)
    const options = { maxNewTokens: 8, temperature: 0 }
    const expected = [...model.generate(PROMPT, options)]
    const text = []
    for await (const generated of model.generateAsync(PROMPT, options)) {
      model.dispose()
      gpt.scope(() => gpt.randn([2000])) // writes where the weights would have been freed
      text.push(generated)
    }
    assert.deepEqual(text, expected)
    assert.ok(usedMemory(model) < used)
    await assert.rejects(
      model.generateAsync(PROMPT).next(),
      ours('DISPOSED', /^GPTModel.generateAsync: .* disposed/),
    )
  })

  test(`with ${how} weights other tasks run while a prompt is computed`, { skip }, async () => {
    const model = newModel(gpt, { contextLength: 300, embDim: 96 })
    let most = 0
    // A busy machine may give this thread no time while the worker computes.
    for (let attempts = 0; most <= 20 && attempts < 100; attempts++) {
      const tokens = model.generateAsync(new Array(256).fill(1))
      let computed = false
      const first = tokens.next().then(() => (computed = true))
      for (let tasks = 0; !computed; tasks++) {
        most = Math.max(most, tasks)
        await nextTask()
      }
      await first
      await tokens.return()
    }
    assert.ok(most > 20, `${most} tasks`)
    model.dispose()
  })

  test(`with ${how} weights dispose of the instance ends a text and the workers`, { skip }, async () => {
    const own = await load({ threads: Number(threads) })
    const others = new Set(workers)
    const model = newModel(own)
    const tokens = model.generateAsync(PROMPT)
    await tokens.next()
    const waiting = model.generateAsync(PROMPT).next()
    const started = [...workers].filter((worker) => !others.has(worker))
    assert.ok(started.length > 0)
    own.dispose()
    const message = /^GPTModel.generateAsync: the instance should be live, got one that was disposed/
    await assert.rejects(tokens.next(), ours('DISPOSED', message))
    await assert.rejects(waiting, ours('DISPOSED', message))
    await until(() => started.every((worker) => !workers.has(worker)), 'the workers have ended')
  })
}

test(
  'the worker of a program that shares memory is used again; otherwise it ends with its memory',
  { skip },
  async () => {
    for (const gpt of Object.values(gpts)) {
      const model = newModel(gpt)
      await collect(model.generateAsync(PROMPT, { maxNewTokens: 1 }))
      await until(() => workers.size <= 2, 'all others have ended')
      const before = new Set(workers)
      await collect(model.generateAsync(PROMPT, { maxNewTokens: 1 }))
      if (gpt === gpts[2]) assert.deepEqual(workers, before)
      model.dispose()
    }
  },
)

test('a model that its config does not describe is refused by the name of its layer', { skip }, async () => {
  const gpt = gpts[2]
  class Own extends gpt.LayerNorm {}
  /** @type {[(model: any) => void, RegExp][]} */
  const changes = [
    [
      (model) => (model.finalNorm = new Own(24)),
      /final_norm should be what GPTModel makes, got an Own; use gen/,
    ],
    [
      (model) => (model.trfBlocks[1].ff.layers[1] = new gpt.ReLU()),
      /trf_blocks.1.ff.layers.1 .* got a ReLU;/,
    ],
    [
      (model) => (model.trfBlocks[0].norm1 = new gpt.LayerNorm(24, { eps: 1 })),
      /norm1 .* with eps 0.00001, got 1;/,
    ],
    [
      (model) => (model.trfBlocks[1].attn.cAttn.bias = null),
      /trf_blocks.1.attn.c_attn.bias should be a Tensor/,
    ],
    [
      (model) => (model.outHead.forward = () => gpt.ones([1, 96])),
      /out_head .* got one with a forward of its own/,
    ],
    [(model) => model.trfBlocks[0].onForward(() => {}), /trf_blocks.0 .* got one with a listener/],
    [(model) => model.trfBlocks[0].train(), /trf_blocks.0 should be in evaluation mode; call eval/],
  ]
  for (const [change, message] of changes) {
    const model = newModel(gpt)
    change(model)
    for (const layer of [model.finalNorm, ...model.trfBlocks.map(({ norm1 }) => norm1)]) layer.eval()
    const used = usedMemory(model)
    const error = await model
      .generateAsync(PROMPT)
      .next()
      .catch((reason) => reason)
    assert.ok(error instanceof GptLayersError, String(message))
    assert.match(error.message, message)
    assert.equal(usedMemory(model), used)
    model.dispose()
  }
  const model = newModel(gpt)
  untyped(model).finalNorm = new gpt.LayerNorm(24).eval() // also a layer of the package
  assert.equal((await collect(model.generateAsync(PROMPT, { maxNewTokens: 1 }))).length, 1)
  class Subclass extends gpt.GPTModel {}
  const own = new Subclass(CONFIG).eval()
  await assert.rejects(
    own.generateAsync(PROMPT).next(),
    ours('UNSUPPORTED', /the model should be .* got a Subclass;/),
  )
  own.dispose()
  model.dispose()
})

test('wrong options are refused at the call', () => {
  const model = newModel(gpts[1])
  const call = (/** @type {object} */ options) => () => model.generateAsync(PROMPT, options)
  assert.throws(call({ topK: 0 }), ours('VALUE', /^GPTModel.generateAsync: topK should be/))
  assert.throws(call({ signal: {} }), ours('TYPE', /signal should be an AbortSignal, got an object/))
  const cache = model.newCache()
  assert.throws(call({ cache }), ours('UNSUPPORTED', /options should have no cache; use generate with one/))
  assert.throws(() => model.generateAsync([]), ours('SHAPE', /at least one token/))
  assert.throws(() => model.train().generateAsync(PROMPT), ours('VALUE', /call eval\(\) first/))
  cache.dispose()
  model.dispose()
})

for (const threads of [1, 2]) {
  test(
    `too little memory is an error, on ${threads} thread(s), after which the next text is right`,
    { skip },
    async () => {
      const gpt = await load({ threads, maxMemory: 8 })
      const model = newModel(gpt, { contextLength: 2000, embDim: 240 }) // 6 MB, and a prompt needs 8
      const used = usedMemory(model)
      const long = model.generateAsync(new Array(1900).fill(3), { temperature: 0 })
      await assert.rejects(long.next(), ours('MEMORY', /needs \d+ bytes/))
      assert.equal(usedMemory(model), used)
      const options = { maxNewTokens: 3, temperature: 0 }
      assert.deepEqual(await collect(model.generateAsync(PROMPT, options)), [
        ...model.generate(PROMPT, options),
      ])
      gpt.dispose()
    },
  )
}

test('where no worker can be started the text is the same, on this thread, and the console says why', async (t) => {
  const warn = t.mock.method(console, 'warn', () => {})
  const gpt = await load()
  const model = newModel(gpt)
  gpt.manualSeed(3)
  const expected = [...model.generate(PROMPT, { maxNewTokens: 5 })]
  const Failing = class {
    constructor() {
      throw new Error('no workers here')
    }
  }
  t.mock.method(process, 'getBuiltinModule', () => ({ Worker: Failing }))
  gpt.manualSeed(3)
  assert.deepEqual(await collect(model.generateAsync(PROMPT, { maxNewTokens: 5 })), expected)
  const [said] = warn.mock.calls[0].arguments
  assert.match(String(said), /generateAsync computes on the calling thread, because .* no workers here/)
  const controller = new AbortController()
  await assert.rejects(async () => {
    for await (const { token } of model.generateAsync(PROMPT, { signal: controller.signal })) {
      controller.abort(new Error(`after ${token >= 0}`))
    }
  }, /after true/)
  gpt.dispose()
})

test('a worker that ends is an error, and the next text has another worker', { skip }, async () => {
  const gpt = await load({ threads: 2 })
  const model = newModel(gpt)
  const used = usedMemory(model)
  const others = new Set(workers)
  const tokens = model.generateAsync(PROMPT)
  await tokens.next()
  const [worker] = [...workers].filter((started) => !others.has(started))
  await worker.terminate()
  await assert.rejects(
    tokens.next(),
    ours('INTERNAL', /^GPTModel.generateAsync: the worker has ended: it exited/),
  )
  assert.equal(usedMemory(model), used)
  assert.equal((await collect(model.generateAsync(PROMPT, { maxNewTokens: 2 }))).length, 2)
  gpt.dispose()
})

test(
  'an iterator that nobody holds ends, and so does the worker of an unreachable instance',
  { skip },
  async () => {
    const others = new Set(workers)
    const weak = await (async () => {
      const gpt = await load({ threads: 2 })
      const model = newModel(gpt)
      const used = usedMemory(model)
      await (async () => void (await model.generateAsync(PROMPT).next()))()
      await until(() => {
        collectGarbage()
        return usedMemory(model) === used
      }, 'the memory is free')
      return new WeakRef(gpt)
    })()
    await until(() => {
      collectGarbage()
      return weak.deref() === undefined && [...workers].every((worker) => others.has(worker))
    }, 'the workers have ended')
  },
)

test('Node waits for a token, and not for a worker that is idle', { skip }, async () => {
  const code = `import { load } from 'gpt-layers'
    for (const threads of [1, 2]) {
      const gpt = await load({ threads })
      const model = new gpt.GPTModel(${JSON.stringify(CONFIG)}).eval()
      const tokens = model.generateAsync([1])
      await tokens.next()
      await tokens.next()
      console.log('written')
    }`
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const args = ['--input-type=module', '--eval', code]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, timeout: PATIENCE })
  assert.equal(stdout, 'written\nwritten\n')
})
