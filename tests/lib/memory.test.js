import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Memory } from '../../web/lib/runtime/memory.js'
import { assertRefuses, loadForTest } from './support.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')

let gpt
beforeEach(async () => {
  gpt = await loadForTest()
})
const heap = () => gpt.exports.memory.buffer.byteLength

/** The address the next small tensor gets: the same before and after only if nothing stayed behind in between. */
const nextAddress = () => gpt.scope(() => gpt.zeros([1]).byteOffset) // a number: the tensor itself goes

test('the heap stays flat over 100,000 forward calls in a scope', () => {
  const norm = new gpt.LayerNorm(768)
  const x = gpt.randn([6, 768])
  const size = heap()
  const address = nextAddress()
  for (let i = 0; i < 100_000; i++) {
    gpt.scope(() => {
      norm.forward(x)
    })
  }
  assert.equal(heap(), size)
  assert.equal(nextAddress(), address)
})

test('tensors nobody holds are freed without being disposed', async () => {
  const norm = new gpt.LayerNorm(768)
  const x = gpt.randn([100, 768])
  let largest = 0
  for (let i = 0; i < 2000; i++) {
    norm.forward(x)
    if (i % 50 === 49) {
      collectGarbage()
      await sleep(0)
    }
    largest = Math.max(largest, heap())
  }
  // 2000 outputs of 300 kB would be 600 MB; what lives between two collections is 15 MB.
  assert.ok(largest < 64 * 2 ** 20, `${largest} bytes`)
})

test('growing the heap never invalidates a tensor', () => {
  const x = gpt.tensor([1, 2, 3])
  const size = heap()
  gpt.zeros([2 ** 22])
  assert.ok(heap() > size)
  assert.deepEqual(x.toArray(), [1, 2, 3])
})

test('a scope frees what was made inside, but not what it returns', () => {
  let inside
  const { kept, list, layer } = gpt.scope(() => {
    inside = gpt.ones([2])
    new gpt.Linear(2, 2)
    return { kept: gpt.ones([3]), list: [gpt.ones([1])], layer: new gpt.LayerNorm(2) }
  })
  assert.equal(inside.disposed, true)
  assert.deepEqual(kept.toArray(), [1, 1, 1])
  assert.deepEqual(list[0].toArray(), [1])
  assert.deepEqual([...layer.scale.data], [1, 1])
})

test('what an inner scope returns belongs to the outer one', () => {
  let returned
  gpt.scope(() => {
    returned = gpt.scope(() => gpt.ones([1]))
    assert.equal(returned.disposed, false)
  })
  assert.equal(returned.disposed, true)
})

test('a scope whose function throws, or is asynchronous, frees all', () => {
  const address = nextAddress()
  assert.throws(
    () =>
      gpt.scope(() => {
        gpt.ones([8])
        throw new Error('mine')
      }),
    /mine/,
  )
  assertRefuses(() => gpt.scope(async () => gpt.ones([8])), 'TYPE', /Promise/)
  assertRefuses(() => gpt.scope(3), 'TYPE', /fn should be a function, got 3/)
  assert.equal(nextAddress(), address)
})

test('past maxMemory there is an error that says what to do, and nothing is lost', async () => {
  gpt = await loadForTest({ maxMemory: 4 })
  const size = heap()
  const address = nextAddress()
  assertRefuses(() => gpt.zeros([2 ** 20]), 'MEMORY', /zeros: needs 4194304 bytes.*dispose/)
  assertRefuses(() => gpt.zeros([2 ** 40]), 'MEMORY', /zeros/)
  assertRefuses(() => new gpt.Linear(1000, 1100), 'MEMORY', /Linear/)
  assert.equal(heap(), size)
  assert.equal(nextAddress(), address)
  gpt.zeros([2 ** 18])
})

test('a layer that does not fit leaves the generator where it stood', async () => {
  gpt = await loadForTest({ maxMemory: 4 })
  const address = nextAddress()
  gpt.manualSeed(1)
  const expected = gpt.randn([4]).toArray()
  gpt.manualSeed(1)
  // the first of its two matrices fits
  assertRefuses(() => new gpt.FeedForward({ embDim: 700, hiddenDim: 800 }), 'MEMORY', /Linear/)
  assert.deepEqual(gpt.randn([4]).toArray(), expected)
  assert.equal(nextAddress() > address, true, 'only the two randn above are there')
  assertRefuses(() => new gpt.FeedForward({ embDim: 4, approximate: 'erf' }), 'VALUE', /approximate/)
})

test('blocks are reused and merged in whatever order they come back', () => {
  const memory = new Memory(new WebAssembly.Memory({ initial: 1, maximum: 1 }), 100, 65536)
  let seed = 1
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n
  const held = []
  for (let i = 0; i < 20_000; i++) {
    if (held.length > 20 || (held.length > 0 && random(2))) {
      memory.free(held.splice(random(held.length), 1)[0].offset)
    } else {
      const size = random(2000)
      const offset = memory.allocate('test', size)
      assert.equal(offset % 16, 0)
      assert.ok(offset >= 100 && offset + size <= 65536)
      for (const other of held)
        assert.ok(offset + size <= other.offset || offset >= other.offset + other.size)
      held.push({ offset, size })
    }
  }
  for (const { offset } of held) memory.free(offset)
  assert.equal(memory.used, 0)
  assert.equal(memory.allocate('test', 65536 - 112), 112) // one block again
})
