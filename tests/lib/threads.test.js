// Threads give the bits of one thread, sleep when idle, and end with their instance, whatever happens to a
// worker.

/** @import { Attention, Conv1D, FeedForward, Gpt, Linear, Module, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as immediate } from 'node:timers/promises'
import { afterEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { GPT_CONFIG_124M, load } from 'gpt-layers'
import { CALL_WORDS, MAX_ARGUMENTS } from '../../build/lib/threads/call.js'
import { Pool } from '../../build/lib/threads/pool.js'
import { collectGarbage, gradientOf, loadForTest, until, workersSleep } from './support.js'

const skip =
  !process.getBuiltinModule && `one thread in Node ${process.version}, which has no getBuiltinModule`

const PATIENCE = 120_000 // ms after which a process that should have ended is killed

/** The workers that were started since the last test. @type {Worker[]} */
let workers = []
process.on('worker', (worker) => workers.push(worker))
afterEach(() => (workers = []))

/**
 * A forward and a backward of random numbers.
 *
 * @template {Linear | Conv1D | FeedForward | Attention} L
 * @param {Gpt} gpt
 * @param {L} layer
 * @param {number[]} shape of x
 * @returns {{ layer: L, dx: Tensor }}
 */
function trained(gpt, layer, shape) {
  const x = gpt.parameter(gpt.randn(shape))
  const y = layer.forward(x)
  y.backward(gpt.randn(y.shape))
  return { layer, dx: gradientOf(x) }
}

const odd = { embDim: 57, nHeads: 3, contextLength: 201, dropRate: 0.1 }

/**
 * Every layer at odd sizes and at GPT-2's, each with enough work to be shared.
 *
 * @param {Gpt} gpt
 * @returns {Record<string, () => Tensor>} each returns a result to compare
 */
const calls = (gpt) => ({
  'Linear of one row': () => new gpt.Linear(768, 3072).forward(gpt.randn([1, 768])),
  'Linear of few rows': () => new gpt.Linear(333, 517).forward(gpt.randn([7, 333])),
  'Linear of many rows, without bias': () =>
    new gpt.Linear(65, 131, { bias: false }).forward(gpt.randn([331, 65])),
  'Linear’s gradient for few rows': () => trained(gpt, new gpt.Linear(768, 517), [3, 768]).dx,
  'Linear’s gradient for many rows': () => trained(gpt, new gpt.Linear(333, 131), [65, 333]).dx,
  'Linear’s weight’s gradient': () =>
    gradientOf(trained(gpt, new gpt.Linear(333, 131), [65, 333]).layer.weight),
  'Conv1D of few rows': () => new gpt.Conv1D(517, 768).forward(gpt.randn([3, 768])),
  'Conv1D of many rows, without bias': () =>
    new gpt.Conv1D(131, 65, { bias: false }).forward(gpt.randn([331, 65])),
  'Conv1D’s gradient': () => trained(gpt, new gpt.Conv1D(131, 333), [65, 333]).dx,
  'Conv1D’s weight’s gradient': () =>
    gradientOf(trained(gpt, new gpt.Conv1D(131, 333), [65, 333]).layer.weight),
  ReLU: () => new gpt.ReLU().forward(gpt.randn([3, 100_003])),
  'GELU, tanh': () => new gpt.GELU().forward(gpt.randn([100_003])),
  'GELU, erf': () => new gpt.GELU({ approximate: 'none' }).forward(gpt.randn([128, 3072])),
  'LayerNorm at an odd size': () => new gpt.LayerNorm(511).forward(gpt.randn([257, 511])),
  'LayerNorm at GPT-2’s': () => new gpt.LayerNorm(768).forward(gpt.randn([1024, 768])),
  'FeedForward of one row': () =>
    gpt.noGrad(() => new gpt.FeedForward(GPT_CONFIG_124M).forward(gpt.randn([1, 768]))),
  'FeedForward of few rows': () =>
    gpt.noGrad(() => new gpt.FeedForward({ embDim: 67, hiddenDim: 259 }).forward(gpt.randn([37, 67]))),
  'FeedForward of many rows': () =>
    gpt.noGrad(() => new gpt.FeedForward({ embDim: 67, hiddenDim: 259 }).forward(gpt.randn([401, 67]))),
  'FeedForward’s gradient': () =>
    trained(gpt, new gpt.FeedForward({ embDim: 67, hiddenDim: 259 }), [37, 67]).dx,
  'FeedForward at GPT-2’s': () =>
    gpt.noGrad(() => new gpt.FeedForward(GPT_CONFIG_124M).forward(gpt.randn([130, 768]))),
  'Attention of few tokens': () => new gpt.Attention(GPT_CONFIG_124M).forward(gpt.randn([7, 768])),
  'Attention at an odd size': () => new gpt.Attention(odd).eval().forward(gpt.randn([2, 201, 57])),
  'Attention’s weights': () =>
    new gpt.Attention(odd).forward(gpt.randn([201, 57]), { returnWeights: true }).weights,
  'Attention’s gradient': () => trained(gpt, new gpt.Attention(odd), [2, 201, 57]).dx,
  'Attention’s weight’s gradient': () =>
    gradientOf(trained(gpt, new gpt.Attention(odd), [201, 57]).layer.cAttn.weight),
})

for (const threads of [2, 3]) {
  test(`${threads} threads give the bits of one thread`, { skip }, async (t) => {
    const [one, many] = [await loadForTest({ threads: 1 }), await loadForTest({ threads })]
    assert.ok(many.exports.memory.buffer instanceof SharedArrayBuffer)
    assert.equal(workers.length, threads - 1)
    const [expected, actual] = [calls(one), calls(many)]
    for (const name of Object.keys(expected)) {
      one.manualSeed(7)
      many.manualSeed(7)
      const notify = t.mock.method(Atomics, 'notify')
      const [x, y] = [
        one.scope(() => expected[name]().data.slice()),
        many.scope(() => actual[name]().data.slice()),
      ]
      assert.deepEqual(y, x, name)
      assert.ok(notify.mock.callCount() > 0, `${name} should be shared among the threads`)
      notify.mock.restore()
    }
    many.dispose()
  })
}

/**
 * Random layers at random sizes, forward and backward, without a scope.
 *
 * @param {Gpt} gpt
 * @param {number} seed the same calls for the same seed
 * @returns {Generator<{ name: string, results: Tensor[] }, never>}
 */
function* randomCalls(gpt, seed) {
  let state = seed
  const from1to = (/** @type {number} */ n) => 1 + ((state = (state * 48271) % 2147483647) % n)
  gpt.manualSeed(seed)
  for (;;) {
    const [rows, cols, heads] = [from1to(300), from1to(300), from1to(5)]
    const embDim = heads * from1to(40)
    const sizes = { embDim, nHeads: heads, contextLength: rows, hiddenDim: cols, dropRate: 0.1 }
    /** @type {(() => [Module, number[]])[]} */
    const kinds = [
      () => [new gpt.Linear(cols, from1to(300)), [rows, cols]],
      () => [new gpt.Conv1D(from1to(300), cols), [rows, cols]],
      () => [new gpt.ReLU(), [10 * rows, cols]],
      () => [new gpt.GELU(), [rows, cols]],
      () => [new gpt.LayerNorm(cols), [rows, cols]],
      () => [new gpt.RMSNorm(cols), [rows, cols]],
      () => [new gpt.BatchNorm(cols), [rows, cols]],
      () => [new gpt.Softmax(), [rows, cols]],
      () => [new gpt.Dropout(0.3), [rows, cols]],
      () => [new gpt.FeedForward(sizes), [rows, embDim]],
      () => [new gpt.Attention(sizes), [rows, embDim]],
      () => [new gpt.TransformerBlock(sizes), [rows, embDim]],
    ]
    const [layer, shape] = kinds[from1to(kinds.length) - 1]()
    const x = gpt.parameter(gpt.randn(shape))
    const y = layer.forward(x)
    y.backward(gpt.randn(y.shape))
    const results = [y, ...[x, ...layer.parameters()].map(gradientOf)]
    const evaluated = gpt.noGrad(() => layer.eval().forward(gpt.randn(shape)))
    yield { name: `${layer.constructor.name} of [${shape}]`, results: [...results, evaluated] }
  }
}

for (const threads of [2, 4]) {
  test(
    `random calls on ${threads} threads, without scopes, give the bits of one thread`,
    { skip },
    async () => {
      const options = { maxMemory: 24 }
      const one = randomCalls(await loadForTest({ ...options, threads: 1 }), threads)
      const gpt = await loadForTest({ ...options, threads })
      const many = randomCalls(gpt, threads)
      for (let i = 0; i < 80; i++) {
        const [expected, actual] = [one.next().value, many.next().value]
        expected.results.forEach(({ data }, j) => {
          assert.deepEqual(actual.results[j].data, data, `${i}: ${expected.name}, result ${j}`)
        })
        await immediate() // lets the unused tensors be freed: all together do not fit
      }
      assert.equal(gpt.threads, threads)
      gpt.dispose()
    },
  )
}

test('thousands of calls to busy and to sleeping threads give the bits of one thread', { skip }, async () => {
  const gpt = await loadForTest({ threads: 3 })
  const x = gpt.randn([70_000])
  const layer = new gpt.GELU()
  const expected = layer.forward(x).data.slice()
  for (let i = 0; i < 3000; i++) {
    gpt.scope(() => {
      const y = layer.forward(x).data
      assert.equal(y[i * 23], expected[i * 23])
      if (i % 100 === 0) assert.deepEqual(y.slice(), expected)
    })
    if (i % 500 === 0) await workersSleep(gpt)
  }
  gpt.dispose()
})

test('idle threads sleep', { skip }, async () => {
  const gpt = await loadForTest({ threads: 3 })
  new gpt.GELU().forward(gpt.randn([100_000]))
  await workersSleep(gpt)
  gpt.dispose()
})

test('sleeping threads do not keep Node alive', { skip }, async () => {
  const code = `import { loadForTest } from './support.js'
    const gpt = await loadForTest({ threads: 3 })
    new gpt.GELU().forward(gpt.randn([100_000]))
    console.log(gpt.threads)`
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const args = ['--input-type=module', '--eval', code]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, timeout: PATIENCE })
  assert.equal(stdout, '3\n')
})

test('dispose ends the workers', { skip }, async () => {
  const gpt = await loadForTest({ threads: 3 })
  const exits = Promise.all(workers.map((worker) => once(worker, 'exit')))
  gpt.dispose()
  assert.equal(gpt.threads, 1)
  await exits
})

test('the workers of an unreachable instance end', { skip }, async () => {
  await (async () => new (await loadForTest({ threads: 2 })).ReLU())()
  let ended = false
  workers[0].once('exit', () => (ended = true))
  await until(() => {
    collectGarbage()
    return ended
  }, 'the worker has ended')
})

/**
 * The layers of the next test, with the shape of x.
 *
 * @type {Record<string, (gpt: Gpt) => [Module, number[]]>}
 */
const killed = {
  GELU: ({ GELU }) => [new GELU(), [100_003]],
  LayerNorm: ({ LayerNorm }) => [new LayerNorm(511), [257, 511]],
  Linear: ({ Linear }) => [new Linear(333, 131), [65, 333]],
  FeedForward: ({ FeedForward }) => [new FeedForward({ embDim: 67, hiddenDim: 259 }), [101, 67]],
  Attention: ({ Attention }) => [new Attention(odd), [101, 57]],
}
for (const [name, make] of Object.entries(killed)) {
  test(
    `when a worker ends, ${name} is right meanwhile, forward and backward, and then there is one thread`,
    { skip },
    async () => {
      const results = (/** @type {Gpt} */ gpt) =>
        gpt.scope(() => {
          gpt.manualSeed(3)
          const [layer, shape] = make(gpt)
          const x = gpt.parameter(gpt.randn(shape))
          const y = layer.forward(x)
          y.backward(gpt.randn(y.shape))
          return [y, ...[x, ...layer.parameters()].map(gradientOf)].map(({ data }) => data.slice())
        })
      const expected = results(await loadForTest({ threads: 1 }))
      const gpt = await loadForTest({ threads: 3 })
      const exit = once(workers[0], 'exit')
      workers[0].terminate()
      // The worker ends during these calls; this thread hears of it only after them.
      for (let i = 0; i < 10; i++) assert.deepEqual(results(gpt), expected)
      await exit
      assert.equal(gpt.threads, 1)
      assert.match(String(gpt.threadsReason), /^a worker has ended: /)
      assert.deepEqual(results(gpt), expected)
    },
  )
}

test('when a worker dies within a kernel, the caller does its part', () => {
  const call = {
    words: new Int32Array(new SharedArrayBuffer(4 * CALL_WORDS)),
    args: new Float64Array(new SharedArrayBuffer(8 * MAX_ARGUMENTS)),
  }
  /** @type {number[][]} */
  const done = []
  const kernels = {
    gpt_test(/** @type {number[]} */ ...args) {
      done.push(args)
      if (done.length === 1) call.words[0]-- // As if a worker took a part and died.
      return done.length === 4 ? -3 : 0
    },
  }
  const pool = new Pool(call, kernels, [], 20)
  pool.threads = 4
  assert.equal(pool.run('gpt_test', [0.1, 2 ** 53], 4), -3)
  assert.deepEqual(
    done,
    [3, 1, 0, 2].map((part) => [0.1, 2 ** 53, part, 4]),
  )
  assert.equal(pool.threads, 1)
})

test('a page that is not cross-origin isolated gets one thread', async (t) => {
  t.mock.method(console, 'warn', () => {})
  t.after(() => Reflect.deleteProperty(globalThis, 'crossOriginIsolated'))
  Object.defineProperty(globalThis, 'crossOriginIsolated', { value: false, configurable: true })
  const gpt = await loadForTest({ threads: 1 })
  assert.equal(gpt.threads, 1)
  const many = await load({ threads: 2 })
  assert.equal(many.threads, 1)
  assert.ok(many.exports.memory.buffer instanceof ArrayBuffer)
})

/** Workers that fail, each in another way, and the reason that the instance gives. */
const failing = {
  'cannot be made': {
    reason: /no workers here/,
    Failing: class {
      constructor() {
        throw new Error('no workers here')
      }
    },
  },
  'ends at once': {
    reason: /it exited with code 1/,
    Failing: class extends Worker {
      constructor() {
        super('process.exit(1)', { eval: true })
      }
    },
  },
  'throws at once': {
    reason: /mine/,
    Failing: class extends Worker {
      constructor() {
        super('throw new Error("mine")', { eval: true })
      }
    },
  },
  'never answers': {
    reason: /it was not ready after 20 s/,
    Failing: class extends Worker {
      constructor() {
        super('setInterval(() => {}, 1000)', { eval: true })
      }
    },
  },
}
for (const [how, { reason, Failing }] of Object.entries(failing)) {
  test(`where a worker ${how}, load gives one thread`, { skip }, async (t) => {
    t.mock.method(console, 'warn', () => {})
    t.mock.method(process, 'getBuiltinModule', () => ({ Worker: Failing }))
    const patient = how === 'never answers'
    if (patient) t.mock.timers.enable({ apis: ['setTimeout'] })
    const loading = load({ threads: 3 })
    const settled = loading.then(() => true)
    while (patient && !(await Promise.race([settled, immediate(false)]))) t.mock.timers.tick(100)
    const gpt = await loading
    assert.equal(gpt.threads, 1)
    assert.match(String(gpt.threadsReason), reason)
    assert.deepEqual(new gpt.ReLU().forward(gpt.tensor([-1, 2])).toArray(), [0, 2])
    assert.equal(
      new gpt.GELU()
        .forward(gpt.ones([100_000]))
        .mean()
        .item() > 0.84,
      true,
    )
  })
}

test('load with threads works in a worker', { skip }, async () => {
  const entry = JSON.stringify(import.meta.resolve('gpt-layers'))
  const code = `import(${entry}).then(async ({ load }) => {
    const gpt = await load({ threads: 2 })
    const mean = new gpt.ReLU().forward(gpt.ones([300_000])).mean().item()
    require('node:worker_threads').parentPort.postMessage([gpt.threads, mean])
  })`
  const worker = new Worker(code, { eval: true })
  const answer = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  assert.deepEqual(answer, [2, 1])
  await worker.terminate()
})
