// Threads: the same bits as one, and nothing that hangs, burns or stays behind, whatever becomes of the workers.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { afterEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { GPT_CONFIG_124M } from 'gpt-layers'
import { SLOTS, WORDS } from '../../dist/threads/parts.js'
import { Crew } from '../../dist/threads/threads.js'
import { loadForTest } from './support.js'

const skip =
  !process.getBuiltinModule && `one thread in Node ${process.version}, which has no getBuiltinModule`

/** The workers that were started since the last test. */
let workers = []
process.on('worker', (worker) => workers.push(worker))
afterEach(() => (workers = []))

/** A layer after a forward and a backward of random numbers. */
const trained = (gpt, layer, shape) => {
  const y = layer.forward(gpt.randn([...shape, layer.inFeatures ?? layer.nx ?? layer.embDim]))
  return { layer, dx: layer.backward(gpt.randn(y.shape)) }
}

const odd = { embDim: 57, nHeads: 3, contextLength: 201, dropRate: 0.1 }

/** Every layer at odd sizes and at GPT-2's, each enough work to be shared. */
const calls = (gpt) => ({
  'Linear of one row': () => new gpt.Linear(768, 3072).forward(gpt.randn([1, 768])),
  'Linear of few rows': () => new gpt.Linear(333, 517).forward(gpt.randn([7, 333])),
  'Linear of many rows, without bias': () =>
    new gpt.Linear(65, 131, { bias: false }).forward(gpt.randn([331, 65])),
  'Linear’s gradient for few rows': () => trained(gpt, new gpt.Linear(768, 517), [3]).dx,
  'Linear’s gradient for many rows': () => trained(gpt, new gpt.Linear(333, 131), [65]).dx,
  'Linear’s weight’s gradient': () => trained(gpt, new gpt.Linear(333, 131), [65]).layer.weight.grad,
  'Conv1D of few rows': () => new gpt.Conv1D(517, 768).forward(gpt.randn([3, 768])),
  'Conv1D of many rows, without bias': () =>
    new gpt.Conv1D(131, 65, { bias: false }).forward(gpt.randn([331, 65])),
  'Conv1D’s gradient': () => trained(gpt, new gpt.Conv1D(131, 333), [65]).dx,
  'Conv1D’s weight’s gradient': () => trained(gpt, new gpt.Conv1D(131, 333), [65]).layer.weight.grad,
  ReLU: () => new gpt.ReLU().forward(gpt.randn([3, 100_003])),
  'GELU, tanh': () => new gpt.GELU().forward(gpt.randn([100_003])),
  'GELU, erf': () => new gpt.GELU({ approximate: 'none' }).forward(gpt.randn([128, 3072])),
  'LayerNorm at an odd size': () => new gpt.LayerNorm(511).forward(gpt.randn([257, 511])),
  'LayerNorm at GPT-2’s': () => new gpt.LayerNorm(768).forward(gpt.randn([1024, 768])),
  'FeedForward of one row': () => new gpt.FeedForward(GPT_CONFIG_124M).eval().forward(gpt.randn([1, 768])),
  'FeedForward of few rows': () =>
    new gpt.FeedForward({ embDim: 67, hiddenDim: 259 }).eval().forward(gpt.randn([37, 67])),
  'FeedForward of many rows': () =>
    new gpt.FeedForward({ embDim: 67, hiddenDim: 259 }).eval().forward(gpt.randn([401, 67])),
  'FeedForward’s gradient': () => trained(gpt, new gpt.FeedForward({ embDim: 67, hiddenDim: 259 }), [37]).dx,
  'FeedForward at GPT-2’s': () => new gpt.FeedForward(GPT_CONFIG_124M).eval().forward(gpt.randn([130, 768])),
  'Attention of few tokens': () => new gpt.Attention(GPT_CONFIG_124M).forward(gpt.randn([7, 768])),
  'Attention at an odd size': () => new gpt.Attention(odd).eval().forward(gpt.randn([2, 201, 57])),
  'Attention’s weights': () =>
    new gpt.Attention(odd).forward(gpt.randn([201, 57]), { returnWeights: true }).weights,
  'Attention’s gradient': () => trained(gpt, new gpt.Attention(odd), [2, 201]).dx,
  'Attention’s weight’s gradient': () => trained(gpt, new gpt.Attention(odd), [201]).layer.cAttn.weight.grad,
})

for (const threads of [2, 3]) {
  test(`${threads} threads give the bits that one gives`, { skip }, async (t) => {
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
      assert.ok(notify.mock.callCount() > 0, `${name} was shared`)
      notify.mock.restore()
    }
    many.dispose()
  })
}

test('thousands of calls one after the other, awake or asleep, lose nothing', { skip }, async () => {
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
    if (i % 500 === 0) await sleep(5)
  }
  gpt.dispose()
})

test('the parked threads burn nothing, and Node exits by itself', { skip }, async () => {
  const code = `import { loadForTest } from './support.js'
    const gpt = await loadForTest({ threads: 3 })
    new gpt.GELU().forward(gpt.randn([100_000]))
    const before = process.cpuUsage()
    await new Promise((resolve) => setTimeout(resolve, 500))
    const { user, system } = process.cpuUsage(before)
    console.log(gpt.threads, user + system, Date.now())`
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], {
    cwd,
  })
  const [threads, microseconds, finished] = stdout.split(' ').map(Number)
  assert.equal(threads, 3)
  assert.ok(microseconds < 50_000, `${microseconds} µs in 500 ms`)
  assert.ok(Date.now() - finished < 1000, `exits ${Date.now() - finished} ms after its last line`)
})

test('dispose ends the workers', { skip }, async () => {
  const gpt = await loadForTest({ threads: 3 })
  const exits = Promise.all(workers.map((worker) => once(worker, 'exit')))
  gpt.dispose()
  assert.equal(gpt.threads, 1)
  await exits
})

test('the workers of an instance that nobody holds end', { skip }, async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc')
  await (async () => new (await loadForTest({ threads: 2 })).ReLU())()
  let ended = false
  workers[0].once('exit', () => (ended = true))
  for (let i = 0; i < 100 && !ended; i++) {
    collectGarbage()
    await sleep(10)
  }
  assert.ok(ended)
})

test(
  'where a worker ends, the next call is right all the same, and then there is one thread',
  { skip },
  async () => {
    const gpt = await loadForTest({ threads: 3 })
    const layer = new gpt.GELU()
    const x = gpt.randn([100_000])
    const expected = layer.forward(x).toArray()
    const exit = once(workers[0], 'exit')
    workers[0].terminate()
    assert.deepEqual(layer.forward(x).toArray(), expected)
    for (const end = Date.now() + 50; Date.now() < end;); // it is gone by now, and we have not been told
    assert.deepEqual(layer.forward(x).toArray(), expected)
    await exit
    assert.equal(gpt.threads, 1)
    assert.deepEqual(layer.forward(x).toArray(), expected)
  },
)

test('a worker that dies within a kernel leaves a part, which the caller does after a while', () => {
  const board = {
    words: new Int32Array(new SharedArrayBuffer(4 * WORDS)),
    slots: new Float64Array(new SharedArrayBuffer(8 * SLOTS)),
  }
  const done = []
  const kernels = {
    gpt_test(a, b, part, parts) {
      done.push([a, b, part, parts])
      if (done.length === 1) board.words[0]-- // a part is taken, by one who will not do it
      return done.length === 4 ? -3 : 0
    },
  }
  const crew = new Crew(board, kernels, 20)
  crew.threads = 4
  assert.equal(crew.run('gpt_test', [0.1, 2 ** 53], 4), -3)
  assert.deepEqual(
    done,
    [3, 1, 0, 2].map((part) => [0.1, 2 ** 53, part, 4]),
  )
  assert.equal(crew.threads, 1)
})

test('a page that is not cross-origin isolated gets one thread', async (t) => {
  t.after(() => delete globalThis.crossOriginIsolated)
  globalThis.crossOriginIsolated = false
  const gpt = await loadForTest({ threads: 1 })
  assert.equal(gpt.threads, 1)
  const { load } = await import('gpt-layers')
  const many = await load({ threads: 2 })
  assert.equal(many.threads, 1)
  assert.ok(many.exports.memory.buffer instanceof ArrayBuffer)
})

/** Workers that do not work, each in its way. */
const failing = {
  'cannot be made': class {
    constructor() {
      throw new Error('no workers here')
    }
  },
  'ends at once': class extends Worker {
    constructor() {
      super('process.exit(1)', { eval: true })
    }
  },
  'throws at once': class extends Worker {
    constructor() {
      super('throw new Error("mine")', { eval: true })
    }
  },
  'never answers': class extends Worker {
    constructor() {
      super('setInterval(() => {}, 1000)', { eval: true })
    }
  },
}
for (const [how, Failing] of Object.entries(failing)) {
  test(`where a worker ${how}, load settles for one thread`, { skip }, async (t) => {
    const { load } = await import('gpt-layers')
    t.mock.method(process, 'getBuiltinModule', () => ({ Worker: Failing }))
    const patient = how === 'never answers'
    if (patient) t.mock.timers.enable({ apis: ['setTimeout'] })
    const loading = load({ threads: 3 })
    const settled = loading.then(() => true)
    while (patient && !(await Promise.race([settled, immediate(false)]))) t.mock.timers.tick(100)
    const gpt = await loading
    assert.equal(gpt.threads, 1)
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
