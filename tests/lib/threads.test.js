// Threads give the bits of one thread, sleep when idle, and end with their instance, whatever happens to a
// worker.

/** @import { TestContext } from 'node:test' */
/** @import { LoadOptions, Tensor } from 'gpt-layers' */
/** @import { Gpt } from './support.js' */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setImmediate as immediate } from 'node:timers/promises'
import { afterEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { CALL_WORDS, MAX_ARGUMENTS, Pool } from '../../build/lib/threads/pool.js'
import { all } from '../all.js'
import { LAYERS, LOSSES, resultsOf, TENSOR_OPERATIONS } from '../layers.js'
import {
  PATIENCE,
  assertRefuses,
  collectGarbage,
  copy,
  gradientOf,
  load,
  loadForTest,
  until,
  untyped,
  replaceGlobal,
} from './support.js'

const skip =
  !process.getBuiltinModule && `one thread in Node ${process.version}, which has no getBuiltinModule`

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** The workers that were started since the last test. @type {Worker[]} */
let workers = []
process.on('worker', (worker) => workers.push(worker))
afterEach(() => (workers = []))

/** Sizes that are odd, and large enough for every layer to share its work. */
const LARGE = { rows: 211, cols: 267, heads: 3 }
const FEW_ROWS = { rows: 7, cols: 333, heads: 9 }
/** GPT-2's. */
const ONE_ROW = { rows: 1, cols: 768, heads: 12 }

/** Layers that share their work at every size, and those that have none. */
const SHARED = ['FeedForward', 'Attention', 'TransformerBlock', 'GPTModel']
const WITHOUT_WORK = ['Identity']

/** @type {typeof TENSOR_OPERATIONS} */
const OPERATIONS = {
  ...TENSOR_OPERATIONS,
  ...Object.fromEntries(
    Object.entries(LOSSES).map(([name, loss]) => [name, (x, _y, _z, gpt) => loss(gpt, x)]),
  ),
}

/**
 * Waits until all workers of an instance sleep. A sleeping worker waits in Atomics.wait on a word of the
 * shared memory; Atomics.notify on all words returns how many did, and wakes them: they find nothing to do
 * and sleep again.
 *
 * @param {Gpt} gpt with threads
 */
async function workersSleep(gpt) {
  const words = new Int32Array(gpt.exports.memory.buffer)
  const sleeping = () => words.reduce((sum, _, i) => sum + Atomics.notify(words, i), 0)
  await until(() => sleeping() === gpt.threads - 1, 'all workers sleep')
}

/** The results on one thread, by name. They are computed once, and compared with those on two and on three threads. @type {Map<string, unknown>} */
const ofOneThread = new Map()

for (const threads of all ? [2, 3] : [3]) {
  test(`layers and operations give the bits of one thread on ${threads} threads`, { skip }, async (t) => {
    const one = await loadForTest({ threads: 1 })
    const many = await loadForTest({ threads })
    /** @param {string} name @param {(gpt: Gpt) => unknown} results */
    const assertSameAsOne = (name, results) => {
      const actual = results(many)
      if (!ofOneThread.has(name)) ofOneThread.set(name, results(one))
      assert.deepEqual(actual, ofOneThread.get(name), name)
    }
    assert.ok(many.exports.memory.buffer instanceof SharedArrayBuffer)
    assert.equal(workers.length, threads - 1)
    for (const sizes of [LARGE, FEW_ROWS, ONE_ROW]) {
      for (const [name, make] of Object.entries(LAYERS)) {
        const what = `${name}, ${JSON.stringify(sizes)}`
        const results = (/** @type {Gpt} */ gpt) => {
          gpt.manualSeed(7)
          return gpt.scope(() => resultsOf(gpt, make(gpt, sizes)))
        }
        const notify = t.mock.method(Atomics, 'notify')
        assertSameAsOne(what, results)
        const shares = sizes === LARGE ? !WITHOUT_WORK.includes(name) : SHARED.includes(name)
        assert.ok(!shares || notify.mock.callCount() > 0, `${what} should be shared among the threads`)
        notify.mock.restore()
      }
    }
    for (const [name, compute] of Object.entries(OPERATIONS)) {
      const results = (/** @type {Gpt} */ gpt) => {
        gpt.manualSeed(7)
        return gpt.scope(() => {
          const [x, y, z] = [211, 211, 267].map((rows) => gpt.parameter(gpt.rand([rows, 478 - rows])))
          const result = compute(x, y, z, gpt)
          result.mul(result).sum().backward()
          return [result.data.slice(), gradientOf(x).data.slice()]
        })
      }
      assertSameAsOne(name, results)
    }
    assertSameAsOne('the weights of Attention', (gpt) => {
      gpt.manualSeed(7)
      const [attention, x] = LAYERS.Attention(gpt, LARGE)
      return attention.forward(x, { returnWeights: true }).weights.data.slice()
    })
    many.dispose()
  })
}

/**
 * Random layers at random sizes, without a scope.
 *
 * @param {Gpt} gpt
 * @param {number} seed the same calls for the same seed
 * @returns {Generator<{ name: string, results: Record<string, Float32Array> }, never>}
 */
function* randomCalls(gpt, seed) {
  let state = seed
  const from1to = (/** @type {number} */ n) => 1 + ((state = (state * 48271) % 2147483647) % n)
  gpt.manualSeed(seed)
  for (;;) {
    const [rows, heads] = [from1to(300), from1to(5)]
    const sizes = { rows, cols: heads * from1to(50), heads }
    const name = Object.keys(LAYERS)[from1to(Object.keys(LAYERS).length) - 1]
    yield { name: `${name}, ${JSON.stringify(sizes)}`, results: resultsOf(gpt, LAYERS[name](gpt, sizes)) }
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
        assert.deepEqual(actual.results, expected.results, `${i}: ${expected.name}`)
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

test('sleeping threads do not keep Node alive', { skip }, async () => {
  const code = `import { loadForTest } from './support.js'
    const gpt = await loadForTest({ threads: 3 })
    new gpt.GELU().forward(gpt.randn([100_000]))
    console.log(gpt.threads, process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length)`
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const args = ['--input-type=module', '--eval', code]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, timeout: PATIENCE })
  assert.equal(stdout, '3 0\n') // no timer is left, which would be waited for
})

test('dispose ends the workers', { skip }, async () => {
  const gpt = await loadForTest({ threads: 3 })
  const exits = Promise.all(workers.map((worker) => once(worker, 'exit')))
  gpt.dispose()
  assert.equal(gpt.threads, 1)
  await exits
  assert.equal(gpt.threadsReason, 'nothing is loaded: await load() first')
})

test('dispose while threads start ends them, as soon as they are ready', { skip }, async () => {
  const gpt = await copy()
  const loading = gpt.load({ threads: 3 })
  await until(() => workers.length === 2, 'the workers start')
  gpt.dispose()
  const exits = Promise.all(workers.map((worker) => once(worker, 'exit')))
  await assert.rejects(loading, { code: 'DISPOSED' })
  await exits
})

for (const name of ['GELU, tanh', 'LayerNorm', 'Linear', 'FeedForward', 'Attention']) {
  test(
    `when a worker ends, ${name} is right meanwhile, forward and backward, and then there is one thread`,
    { skip },
    async () => {
      const results = (/** @type {Gpt} */ gpt) => {
        gpt.manualSeed(3)
        return gpt.scope(() => resultsOf(gpt, LAYERS[name](gpt, LARGE)))
      }
      const expected = results(await loadForTest({ threads: 1 }))
      const gpt = await loadForTest({ threads: 3 })
      const exit = once(workers[0], 'exit')
      await workersSleep(gpt) // so that the worker holds no part
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

const newCall = () => ({
  words: new Int32Array(new SharedArrayBuffer(4 * CALL_WORDS)),
  args: new Float64Array(new SharedArrayBuffer(8 * MAX_ARGUMENTS)),
})

test('a call has the status of its part that fails, and one of ours where a kernel throws', () => {
  const kernels = {
    gpt_refuses: (/** @type {number} */ part) => (part === 2 ? -3 : 0),
    gpt_throws: () => assert.fail(),
    gpt_works: () => 0,
  }
  const pool = new Pool(newCall(), kernels, [])
  assert.deepEqual(
    Object.keys(kernels).map((kernel) => pool.run(kernel, [], 4)),
    [-3, -100, 0],
  )
})

test('when a worker stops within a kernel, the call fails, and nothing is computed twice', () => {
  const call = newCall()
  /** @type {number[][]} */
  const done = []
  const kernels = {
    gpt_test(/** @type {number[]} */ ...args) {
      done.push(args)
      if (done.length === 1) call.words[0]-- // As if a worker took a part and died.
      return 0
    },
  }
  const pool = new Pool(call, kernels, [], 20)
  pool.threads = 4
  assert.throws(() => pool.run('gpt_test', [0.1, 2 ** 53], 4), {
    code: 'INTERNAL',
    message:
      /^a worker did not finish its part of a call in \d+ ms; this call has no result, and from here on one thread runs$/,
  })
  assert.deepEqual(
    done,
    [3, 1, 0].map((part) => [0.1, 2 ** 53, part, 4]),
  )
  assert.equal(pool.threads, 1)
})

// Indices into the words that a test and its late worker share.
const [HOLD, HELD, WROTE] = [0, 1, 2]

/**
 * An instance of two threads whose worker behaves as a browser's: `terminate` is a request, and the worker
 * goes on for a while.
 *
 * @param {TestContext} t
 * @param {string} kernel whose call fails
 */
async function loadWithLateWorker(t, kernel) {
  t.mock.method(console, 'warn', () => {})
  const control = new Int32Array(new SharedArrayBuffer(12))
  const code = `const control = require('node:worker_threads').workerData
    const { Instance } = WebAssembly
    WebAssembly.Instance = function (...args) {
      const exports = { ...new Instance(...args).exports }
      const kernel = exports.${kernel}
      exports.${kernel} = (...args) => {
        if (Atomics.load(control, ${HOLD}) === 0) return kernel(...args)
        Atomics.store(control, ${HELD}, 1)
        Atomics.notify(control, ${HELD})
        Atomics.wait(control, ${HOLD}, 1)
        const status = kernel(...args)
        Atomics.store(control, ${WROTE}, 1)
        Atomics.notify(control, ${WROTE})
        return status
      }
      return { exports }
    }
    ${readFileSync(fileURLToPath(import.meta.resolve('gpt-layers/worker.js')), 'utf8')}`
  // Made when it is asked for: what it says before anybody listens is lost.
  const worker = () => {
    const late = new Worker(code, { eval: true, workerData: control })
    t.after(late.terminate.bind(late))
    late.terminate = async () => 0
    return late
  }
  const gpt = await load({ build: 'simd', threads: 2, worker })
  assert.equal(gpt.threads, 2)
  const index = Object.keys(gpt.exports)
    .filter((name) => name.startsWith('gpt_'))
    .indexOf(kernel)
  return {
    gpt,
    /**
     * Asserts that the call of the kernel in `fn` fails, because the worker holds its part.
     *
     * @param {() => unknown} fn
     */
    assertFails(fn) {
      const { notify } = Atomics
      const now = performance.now.bind(performance)
      let time = now()
      control[HOLD] = 1
      // The caller runs parts only when the worker has one. Then the caller's patience ends at once.
      const mocks = [
        t.mock.method(Atomics, 'notify', (/** @type {Int32Array} */ words, /** @type {number} */ place) => {
          const woken = notify(words, place)
          if (words[32] === index) Atomics.wait(control, HELD, 0)
          return woken
        }),
        t.mock.method(performance, 'now', () => (control[HELD] ? (time *= 10) : now())),
      ]
      assertRefuses(
        fn,
        'INTERNAL',
        /: a worker did not finish its part of a call in \d+ ms; this call has no/,
      )
      for (const { mock } of mocks) mock.restore()
    },
    /** Lets the worker run its part. */
    release() {
      control[HOLD] = 0
      Atomics.notify(control, HOLD)
      Atomics.wait(control, WROTE, 0)
    },
  }
}

const sizes = { embDim: 64, nHeads: 2, contextLength: 128, vocabSize: 11, nLayers: 1 }

/**
 * A computation for each kind of kernel: what is made first, and what is then computed.
 *
 * @type {Record<string, (gpt: Gpt) => () => Tensor>}
 */
const computations = {
  gpt_gelu_forward(gpt) {
    const x = gpt.randn([100_003])
    return () => new gpt.GELU().forward(x)
  },
  gpt_conv1d_forward(gpt) {
    const [a, b] = [gpt.randn([65, 333]), gpt.randn([333, 131])]
    return () => a.matmul(b)
  },
  gpt_linear_backward(gpt) {
    const [layer, x, dy] = [new gpt.Linear(333, 131), gpt.randn([65, 333]), gpt.randn([65, 131])]
    return () => {
      layer.zeroGrad()
      layer.forward(x).backward(dy)
      return gradientOf(layer.weight)
    }
  },
  gpt_feedforward_forward(gpt) {
    const [layer, x] = [new gpt.FeedForward(sizes), gpt.randn([128, 64])]
    return () => gpt.noGrad(() => layer.forward(x))
  },
  gpt_attention_forward(gpt) {
    const [layer, x] = [new gpt.Attention(sizes), gpt.randn([128, 64])]
    return () => layer.forward(x)
  },
  gpt_attention_backward(gpt) {
    const [layer, x, dy] = [new gpt.Attention(sizes), gpt.randn([128, 64]), gpt.randn([128, 64])]
    return () => {
      layer.zeroGrad()
      layer.forward(x).backward(dy)
      return gradientOf(layer.cAttn.weight)
    }
  },
  gpt_int8_linear_forward(gpt) {
    const [layer, x] = [new gpt.Linear(333, 131).quantize(), gpt.randn([65, 333])]
    return () => layer.forward(x)
  },
}
for (const [kernel, make] of Object.entries(computations)) {
  test(`a worker that goes on after ${kernel} has failed changes no tensor`, { skip }, async (t) => {
    const one = await load({ build: 'simd' })
    const { gpt, assertFails, release } = await loadWithLateWorker(t, kernel)
    const [expected, compute] = [one, gpt].map((instance) => {
      instance.manualSeed(5)
      return make(instance)
    })
    assertFails(compute)
    assert.equal(gpt.threads, 1)
    assert.match(String(gpt.threadsReason), /^a worker did not finish its part of a call in \d+ ms$/)
    collectGarbage()
    await immediate()
    await immediate()
    // These get the memory that is free now.
    const tensors = Array.from({ length: 12 }, (_, i) => gpt.ones([2 ** (i + 5)]))
    tensors.push(...Array.from({ length: 8 }, () => gpt.ones([10_000])))
    const actual = compute().data.slice()
    release()
    assert.deepEqual(actual, expected().data)
    assert.deepEqual(compute().data, expected().data)
    for (const { data } of tensors) assert.ok(data.every((value) => value === 1))
  })
}

for (const dtype of /** @type {const} */ (['float32', 'int8'])) {
  test(
    `a cache (${dtype}) that a worker may still write into is disposed, with its model as before`,
    { skip },
    async (t) => {
      const kernel = dtype === 'int8' ? 'gpt_attention_int8_forward' : 'gpt_attention_cached_forward'
      const one = await load({ build: 'simd' })
      const { gpt, assertFails, release } = await loadWithLateWorker(t, kernel)
      const [expected, model] = [one, gpt].map((instance) => {
        instance.manualSeed(5)
        return new instance.GPTModel(sizes).eval()
      })
      const ids = Array.from({ length: 120 }, (_, i) => (i * i) % 11)
      const cache = model.newCache({ dtype })
      model.forward([1], { cache })
      assertFails(() => model.forward(ids, { cache }))
      assert.ok(cache.disposed)
      assertRefuses(
        () => model.forward([2], { cache }),
        'DISPOSED',
        'GPTModel.forward: cache should be live, got one that was disposed',
      )
      const next = model.newCache({ dtype })
      model.forward(ids, { cache: next })
      release()
      const other = expected.newCache({ dtype })
      expected.forward(ids, { cache: other })
      assert.deepEqual(model.forward([2], { cache: next }).data, expected.forward([2], { cache: other }).data)
    },
  )
}

test('a worker that ends after it was ready, while others start, is not counted', { skip }, async (t) => {
  t.mock.method(console, 'warn', () => {})
  const control = new Int32Array(new SharedArrayBuffer(4))
  const path = fileURLToPath(import.meta.resolve('gpt-layers/worker.js'))
  const first = `const { parentPort } = require('node:worker_threads')
    parentPort.once('message', () => {
      parentPort.postMessage('ready')
      process.exit(3)
    })
    parentPort.postMessage('gpt-layers ${version}')`
  const second = `Atomics.wait(require('node:worker_threads').workerData, 0, 0)
    require(${JSON.stringify(path)})`
  const codes = [first, second]
  const gpt = await load({
    threads: 3,
    worker() {
      const worker = new Worker(String(codes.shift()), { eval: true, workerData: control })
      worker.once('exit', () => {
        control[0] = 1
        Atomics.notify(control, 0)
      })
      return worker
    },
  })
  assert.equal(gpt.threads, 1)
  assert.match(String(gpt.threadsReason), /it exited with code 3/)
})

test('a second attempt to start workers shares no memory with the first', { skip }, async (t) => {
  t.mock.method(console, 'warn', () => {})
  /** @type {any[]} */
  const setups = []
  class Failing extends EventTarget {
    constructor() {
      super()
      queueMicrotask(() => this.dispatchEvent(new MessageEvent('message', { data: `gpt-layers ${version}` })))
    }
    /** @param {object} setup */
    postMessage(setup) {
      setups.push(setup)
      this.dispatchEvent(Object.assign(new Event('error'), { message: 'mine' }))
    }
    terminate() {}
  }
  t.mock.method(process, 'getBuiltinModule', () => undefined)
  t.after(() => Reflect.deleteProperty(globalThis, 'Worker'))
  Object.defineProperty(globalThis, 'Worker', { value: Failing, configurable: true })
  const gpt = await load({ threads: 2 })
  assert.equal(gpt.threadsReason, 'no worker could start (from its file: mine; from a Blob: mine)')
  assert.equal(setups.length, 2)
  const [first, second] = setups
  assert.notEqual(first.call.words.byteOffset, second.call.words.byteOffset)
  assert.notEqual(first.call.args.byteOffset, second.call.args.byteOffset)
  assert.notEqual(first.stackTop, second.stackTop)
})

test('an Electron page, where Node’s workers cannot start, has threads', { skip }, async (t) => {
  class NodeWorker {
    constructor() {
      throw new Error('The V8 platform used by this instance of Node does not support creating Workers')
    }
  }
  /** A browser's, made of Node's. */
  class DomWorker extends EventTarget {
    #worker = new Worker(fileURLToPath(import.meta.resolve('gpt-layers/worker.js')))
    constructor() {
      super()
      this.#worker.on('message', (data) => this.dispatchEvent(new MessageEvent('message', { data })))
    }
    /** @param {object} message */
    postMessage(message) {
      this.#worker.postMessage(message)
    }
    terminate() {
      this.#worker.terminate()
    }
  }
  t.mock.method(process, 'getBuiltinModule', () => ({ Worker: NodeWorker }))
  t.after(() => Reflect.deleteProperty(globalThis, 'Worker'))
  Object.defineProperty(globalThis, 'Worker', { value: DomWorker, configurable: true })
  const gpt = await load({ threads: 2 })
  assert.deepEqual([gpt.threads, gpt.threadsReason], [2, null])
  assert.equal(gpt.ones([300_000]).relu().mean().item(), 1)
  gpt.dispose()
})

/** @param {TestContext} t @param {string} code of each worker that the package starts */
const runs = (t, code) =>
  startsBy(
    t,
    class extends Worker {
      constructor() {
        super(code, { eval: true })
      }
    },
  )

/** @param {TestContext} t @param {new () => object} Starts in place of Node's Worker */
const startsBy = (t, Starts) => t.mock.method(process, 'getBuiltinModule', () => ({ Worker: Starts }))

/** @param {TestContext} t @param {string} code @returns {LoadOptions} with a worker of the user's */
function given(t, code) {
  const worker = new Worker(code, { eval: true })
  t.after(() => worker.terminate())
  return { threads: 2, worker: () => worker }
}

const SILENT = 'setInterval(() => {}, 1000)'

/**
 * Why load gives one thread: the circumstances, and the reason. A third item says that load waits in vain.
 *
 * @type {Record<string, [prepare: (t: TestContext) => LoadOptions | void, reason: string, waits?: true]>}
 */
const REASONS = {
  'one thread was asked for': [() => ({ threads: 1 }), 'load was asked for one thread'],
  'a page lacks two headers': [
    (t) => replaceGlobal(t, 'crossOriginIsolated', false),
    'the page is not cross-origin isolated: serve it with the headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp',
  ],
  'Node is too old': [
    (t) => replaceGlobal(t, 'process', Object.create(process, { getBuiltinModule: { value: undefined } })),
    `Node ${process.versions.node} is too old: 20.16, 22.3 or later can start workers`,
  ],
  'SharedArrayBuffer is missing': [
    (t) => replaceGlobal(t, 'SharedArrayBuffer', undefined),
    'SharedArrayBuffer is missing here',
  ],
  'the module has no threads': [
    () => ({
      threads: 2,
      module: new WebAssembly.Module(readFileSync(new URL(import.meta.resolve('gpt-layers/simd.wasm')))),
    }),
    'the given module is a build without threads: pass gpt-layers/simd-threads.wasm or gpt-layers/relaxed-threads.wasm',
  ],
  'the workers’ stacks do not fit into maxMemory': [
    () => ({ maxMemory: 1, threads: 64 }),
    'no worker could start (node:worker_threads: needs 4129088 bytes, and the heap of 1048576 bytes may not grow beyond 1048576: dispose tensors or work in gpt.scope (unused tensors are freed between tasks only), or load with a larger maxMemory)',
  ],
  'a worker cannot be made': [
    (t) =>
      void startsBy(
        t,
        class {
          constructor() {
            throw new Error('no workers here')
          }
        },
      ),
    'no worker could start (node:worker_threads: no workers here)',
  ],
  'a worker ends at once': [
    (t) => void runs(t, 'process.exit(1)'),
    'no worker could start (node:worker_threads: it exited with code 1)',
  ],
  'a worker throws at once': [
    (t) => void runs(t, 'throw new Error("mine")'),
    'no worker could start (node:worker_threads: mine)',
  ],
  'a worker never answers': [
    (t) => void runs(t, SILENT),
    'no worker could start (node:worker_threads: it was not ready after 20 s)',
    true,
  ],
  'the user’s worker says nothing': [
    (t) => given(t, SILENT),
    'no worker could start (from the worker option: it was not ready after 5 s)',
    true,
  ],
  'the worker option gives no Worker': [
    () => ({ threads: 2, worker: untyped(async () => 1) }),
    'no worker could start (from the worker option: got a Promise, not a Worker)',
  ],
}
for (const [why, [prepare, reason, waits]] of Object.entries(REASONS)) {
  test(`load gives one thread where ${why}, says why, and computes`, { skip }, async (t) => {
    t.mock.method(console, 'warn', () => {})
    const options = prepare(t) ?? { threads: 3 }
    if (waits) t.mock.timers.enable({ apis: ['setTimeout'] })
    const loading = load(options)
    const settled = loading.then(() => true)
    while (waits && !(await Promise.race([settled, immediate(false)]))) t.mock.timers.tick(100)
    const gpt = await loading
    assert.equal(gpt.threads, 1)
    assert.equal(gpt.threadsReason, reason)
    assert.deepEqual(new gpt.ReLU().forward(gpt.tensor([-1, 2])).toArray(), [0, 2])
    assert.ok(new gpt.GELU().forward(gpt.ones([100_000])).data.every((value) => value > 0.84))
  })
}

test('load with threads works in a worker', { skip }, async () => {
  const entry = JSON.stringify(import.meta.resolve('gpt-layers'))
  const code = `import(${entry}).then(async (gpt) => {
    await gpt.load({ threads: 2 })
    const mean = new gpt.ReLU().forward(gpt.ones([300_000])).mean().item()
    require('node:worker_threads').parentPort.postMessage([gpt.threads, mean])
  })`
  const worker = new Worker(code, { eval: true })
  const answer = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  assert.deepEqual(answer, [2, 1])
  await worker.terminate()
})
