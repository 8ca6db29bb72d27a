/** @import { Tensor } from 'gpt-layers' */
/** @import { Gpt } from './support.js' */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { setImmediate as nextTask } from 'node:timers/promises'
import { Memory } from '../../build/lib/runtime/memory.js'
import { begin, run, SCRATCH } from '../../build/lib/runtime/runtime.js'
import { assertRefuses, collectGarbage, heapSize, loadForTest, untyped, usedMemory } from './support.js'

/** @type {Gpt} */
let gpt
beforeEach(async () => {
  gpt = await loadForTest()
})

test('what has dispose works with `using`', { skip: !Symbol.dispose && 'no Symbol.dispose here' }, () => {
  const model = new gpt.GPTModel({ vocabSize: 5, contextLength: 4, embDim: 4, nHeads: 2, nLayers: 1 }).eval()
  const own = class extends gpt.Linear {}
  const linear = new gpt.Linear(2, 2)
  linear.quantize()
  const objects = [gpt.ones([2]), new own(2, 2), linear.int8Weight, model.newCache(), model]
  const optimizer = new gpt.SGD([gpt.parameter(gpt.ones([2]))], { lr: 1, momentum: 0.5 })
  optimizer.parameters[0].sum().backward()
  optimizer.step()
  for (const object of [...objects, optimizer]) untyped(object)[Symbol.dispose]()
  const [x, layer, int8Weight, cache] = objects.map(untyped)
  const disposed = [x, layer.weight, int8Weight, cache, model.tokEmb.weight].map((one) => one.disposed)
  assert.deepEqual(disposed, [true, true, true, true, true])
  assert.deepEqual(optimizer.stateDict(), {})
})

/**
 * A small model, and a training step of it.
 *
 * @param {Gpt} gpt
 * @param {number} [vocabSize]
 */
function training(gpt, vocabSize = 5) {
  const sizes = { vocabSize, contextLength: 4, embDim: 4, nHeads: 2, nLayers: 1, dropRate: 0.1 }
  const model = new gpt.GPTModel(sizes)
  const optimizer = new gpt.AdamW(model.parameters())
  return (/** @type {number} */ i) => {
    optimizer.zeroGrad()
    gpt.crossEntropy(model.forward([[0, 1, 2, i % 5]]), [[1, 2, 3, 4]]).backward()
    gpt.clipGradNorm(optimizer.parameters, 1)
    optimizer.step()
  }
}

test('200 training steps in scopes keep the heap flat', () => {
  const step = training(gpt)
  for (let i = 0; i < 10; i++) gpt.scope(() => step(i))
  const [size, used] = [heapSize(gpt), usedMemory(gpt)]
  for (let i = 0; i < 200; i++) gpt.scope(() => step(i))
  assert.deepEqual([heapSize(gpt), usedMemory(gpt)], [size, used])
})

const squareOf = (/** @type {Tensor} */ x) => () => x.mul(x).sum()
const normOf = (/** @type {number} */ rows) => {
  const [norm, x] = [new gpt.LayerNorm(768).eval(), gpt.randn([rows, 768])]
  return () => norm.forward(x)
}

/**
 * Tasks whose results nobody holds: the most memory in MiB, how many times a task runs, and what makes it.
 *
 * @type {Record<string, [maxMemory: number, times: number, make: () => (i: number) => unknown]>}
 */
const TASKS = {
  'a training step with 16 kB of logits': [2, 500, () => training(gpt, 1000)],
  'a graph of 4 kB, without backward': [4, 3000, () => squareOf(gpt.parameter(gpt.ones([1000])))],
  'an output of 300 kB': [64, 1500, () => normOf(100)],
  'an output of 6 MB, of which few fit': [64, 50, () => normOf(2000)],
  'an output of 64 bytes': [2, 80_000, () => squareOf(gpt.randn([16]))],
  'an optimizer with a state of 8 kB': [
    4,
    1500,
    () => {
      const x = gpt.parameter(gpt.ones([1000]))
      x.grad = gpt.ones([1000])
      return () => new gpt.AdamW([x]).step()
    },
  ],
}

for (const [what, [maxMemory, times, make]] of Object.entries(TASKS)) {
  test(`${times} times ${what}, held by nobody, fit into ${maxMemory} MiB`, async () => {
    gpt = await loadForTest({ maxMemory })
    const task = make()
    for (let i = 0; i < times; i++) {
      task(i)
      await nextTask()
    }
  })
}

test('what a scope returns is freed when nobody holds it, and what is disposed by then is freed once', async () => {
  gpt = await loadForTest({ maxMemory: 4 })
  gpt.scope(() => gpt.zeros([1000]).dispose())
  const inItsPlace = gpt.full([1000], 7)
  for (let i = 0; i < 9; i++) {
    collectGarbage()
    await nextTask() // finalizers run
  }
  gpt.ones([1000])
  assert.equal(inItsPlace.data[0], 7)
  for (let i = 0; i < 3000; i++) {
    gpt.scope(() => {
      const disposed = gpt.zeros([1000]) // 4 kB: the heap holds 1,000 of them
      disposed.dispose()
      return [disposed, gpt.zeros([1000])]
    })
    await nextTask()
  }
  const tensors = Array.from({ length: 100 }, (_, i) => gpt.ones([1000]).mul(i))
  await nextTask()
  tensors.forEach((tensor, i) => assert.equal(tensor.max().item(), i))
})

test('where a program yields to microtasks only, the error says that scopes free its tensors', async () => {
  gpt = await loadForTest({ maxMemory: 4 })
  await assert.rejects(async () => {
    for (;;) {
      gpt.zeros([1000])
      await null
    }
  }, /^GptLayersError: zeros: .* work in gpt\.scope \(unused tensors are freed between tasks only\)/)
})

test('what makes the collector run takes no memory, and comes once where memory is disposed in time', (t) => {
  const memory = new Memory(new WebAssembly.Memory({ initial: 4096 }), 0, 2 ** 28)
  const before = process.memoryUsage.rss()
  const buffers = t.mock.method(globalThis, 'ArrayBuffer')
  for (let i = 0; i < 1000; i++) memory.free(memory.allocate(100 * 2 ** 20), 100 * 2 ** 20)
  assert.deepEqual(
    buffers.mock.calls.map((call) => untyped(call.arguments)[0]),
    [2 ** 25, 2 ** 26, 2 ** 27],
  )
  const grown = process.memoryUsage.rss() - before
  assert.ok(grown < 48 * 2 ** 20, `${grown} bytes became resident`)
})

test('a scope keeps what its result holds, however deep', () => {
  const chain = gpt.scope(() => {
    /** @type {unknown} */
    let list = { tensor: gpt.ones([1]) }
    for (let i = 0; i < 20_000; i++) list = { list }
    return { list }
  })
  /** @type {any} */
  let last = chain
  while (last.list) last = last.list
  assert.deepEqual(last.tensor.toArray(), [1])
})

test('scratch memory that cannot be addressed is refused', () => {
  const { exports } = gpt
  const memory = new Memory(exports.memory, exports.__heap_base.value, 2 ** 32)
  begin({ exports, build: 'simd', int8Kernel: 'int16', memory, pool: 'a test' })
  const call = () => run('gpt_linear_forward', [null, null, null, null, SCRATCH, 3, 2 ** 30, 1])
  assert.throws(call, {
    code: 'MEMORY',
    message:
      'needs 17179869184 bytes, and the heap of 1048576 bytes may not grow beyond 4294967296: dispose tensors or work in gpt.scope (unused tensors are freed between tasks only), or load with a larger maxMemory',
  })
})

test('a scope whose function throws frees all tensors made inside', () => {
  const used = usedMemory(gpt)
  const throwing = () => {
    gpt.ones([8])
    throw new Error('mine')
  }
  assert.throws(() => gpt.scope(throwing), /mine/)
  assert.equal(usedMemory(gpt), used)
})

test('what an asynchronous function of the user’s throws, after it was refused, does not end the program', async () => {
  const late = async () => {
    await nextTask()
    throw new Error('nobody waits for this')
  }
  const x = gpt.parameter(gpt.ones([2]))
  const layer = new gpt.ReLU()
  layer.onForward(untyped(late))
  class Late extends gpt.Module {
    forward() {
      return untyped(late())
    }
  }
  const message =
    'scope: fn should return its result at once, got a Promise; a scope cannot free the tensors of an async function'
  assertRefuses(() => gpt.scope(late), 'TYPE', message)
  assertRefuses(() => gpt.scope(() => [late()]), 'TYPE', message)
  assertRefuses(() => gpt.noGrad(late), 'TYPE', 'noGrad: fn should return its result at once, got a Promise')
  assertRefuses(
    () => layer.forward(x),
    'TYPE',
    "ReLU.onForward: a listener's result should be a Tensor or undefined (an arrow function with braces returns undefined), got a Promise",
  )
  assertRefuses(
    () => new gpt.Sequential(new Late()).forward(x),
    'TYPE',
    "Sequential.forward: layers[0]'s output should be a Tensor, got a Promise",
  )
  const y = gpt.record(gpt.ones([2]), [x], untyped(late)).sum()
  assertRefuses(
    () => y.backward(),
    'TYPE',
    'backward: gradients should return an array of 1, one for each input, got a Promise',
  )
  for (let i = 0; i < 3; i++) await nextTask() // an unhandled rejection would end the test
})

test('beyond maxMemory an error says what to do, and all tensors stay', async () => {
  gpt = await loadForTest({ maxMemory: 4 })
  const size = heapSize(gpt)
  const used = usedMemory(gpt)
  assertRefuses(() => gpt.zeros([2 ** 20]), 'MEMORY', /zeros: needs 4194304 bytes.*dispose/)
  assertRefuses(() => new gpt.Linear(1000, 1100), 'MEMORY', /^Linear: needs/)
  assert.equal(heapSize(gpt), size)
  assert.equal(usedMemory(gpt), used)
  gpt.zeros([2 ** 18])
})

test('a layer of which a part does not fit into memory leaves nothing behind', async () => {
  gpt = await loadForTest({ maxMemory: 4 })
  const used = usedMemory(gpt)
  const sizes = { embDim: 4, nHeads: 2, contextLength: 4, nLayers: 1, vocabSize: 150_000 }
  // Its first matrix fits into memory, its second does not.
  assertRefuses(() => new gpt.FeedForward({ embDim: 700, hiddenDim: 800 }), 'MEMORY', /^FeedForward: needs/)
  assertRefuses(() => new gpt.GPTModel(sizes), 'MEMORY', /^GPTModel: needs 2400000 bytes/)
  new gpt.GPTModel({ ...sizes, tieWeights: true, vocabSize: 60_000 }).dispose()
  assert.equal(usedMemory(gpt), used)
})

test('a block is the first that is large enough, among hundreds of holes, and a retired one never is again', () => {
  const memory = new Memory(new WebAssembly.Memory({ initial: 32, maximum: 32 }), 100, 32 * 65536)
  let seed = 1
  const random = (/** @type {number} */ n) => (seed = (seed * 48271) % 2147483647) % n
  const isFree = new Array(32 * 4096).fill(true) // by 16 bytes
  isFree.fill(false, 0, 8) // the 100 bytes before the heap, and 16 for numbers
  /** @type {{ begin: number, end: number, bytes: number }[]} */
  const held = []
  let [used, holes] = [0, 0]
  for (let i = 0; i < 18_000; i++) {
    if (random(8) >= [8, 4, 1][Math.floor(i / 6000)]) {
      const { begin, end, bytes } = held.splice(random(held.length), 1)[0]
      if (random(9) === 0) memory.retire(16 * (begin + random(end - begin)))
      else {
        isFree.fill(true, begin, end)
        used -= 16 * (end - begin)
      }
      memory.free(16 * begin, bytes)
      continue
    }
    const bytes = random(65)
    const size = Math.max(1, Math.ceil(bytes / 16))
    let end = 0
    for (let run = 0; run < size; end++) run = isFree[end] ? run + 1 : 0
    const begin = end - size
    assert.equal(memory.allocate(bytes), 16 * begin)
    isFree.fill(false, begin, end)
    held.push({ begin, end, bytes })
    used += 16 * size
    assert.equal(memory.used, used)
    holes = Math.max(holes, i % 1000 ? 0 : isFree.filter((free, at) => free && !isFree[at - 1]).length)
  }
  assert.ok(holes > 300, `${holes} holes`)
  const last = isFree.lastIndexOf(false)
  for (let at = isFree.indexOf(true); at < last; at = isFree.indexOf(true, at + 1))
    assert.equal(memory.allocate(16), 16 * at, 'no hole is lost, or there twice')
})

test('the free end of the memory counts where it grows: together they may fill maxMemory', () => {
  const memory = new Memory(new WebAssembly.Memory({ initial: 1 }), 16, 2 * 65536)
  assert.equal(memory.allocate(2 * 65536 - 32), 32)
})

test('an allocation among 20,000 holes neither searches nor moves all of them', (t) => {
  const memory = new Memory(new WebAssembly.Memory({ initial: 32, maximum: 32 }), 16, 32 * 65536)
  const offsets = Array.from({ length: 40_000 }, () => memory.allocate(16))
  let touched = 0
  const { splice, findIndex } = Array.prototype
  t.after(() => Object.assign(Array.prototype, { splice, findIndex }))
  Array.prototype.splice = function (/** @type {any[]} */ ...args) {
    touched += this.length - args[0]
    return Reflect.apply(splice, this, args)
  }
  Array.prototype.findIndex = function (/** @type {any[]} */ ...args) {
    const found = Reflect.apply(findIndex, this, args)
    touched += found < 0 ? this.length : found
    return found
  }
  for (let i = 0; i < 40_000; i += 2) memory.free(offsets[i], 16)
  for (let i = 0; i < 1000; i++) memory.free(memory.allocate(64), 64)
  for (let i = 0; i < 1000; i++) memory.allocate(16)
  assert.ok(touched < 22_000 * 600, `${touched / 22_000} blocks a call`)
})
