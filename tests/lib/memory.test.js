/** @import { Gpt, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { Memory } from '../../web/lib/runtime/memory.js'
import {
  assertRefuses,
  collectGarbage,
  heapSize,
  loadForTest,
  nextAddress,
  until,
  untyped,
  usedMemory,
} from './support.js'

/** @type {Gpt} */
let gpt
beforeEach(async () => {
  gpt = await loadForTest()
})

test('100,000 forward calls in scopes do not grow the heap', () => {
  const norm = new gpt.LayerNorm(768)
  const x = gpt.randn([6, 768])
  const size = heapSize(gpt)
  const address = nextAddress(gpt)
  for (let i = 0; i < 100_000; i++) {
    gpt.scope(() => {
      norm.forward(x)
    })
  }
  assert.equal(heapSize(gpt), size)
  assert.equal(nextAddress(gpt), address)
})

test('unreachable tensors are freed without dispose', async () => {
  const norm = new gpt.LayerNorm(768)
  const x = gpt.randn([100, 768])
  norm.eval()
  const before = usedMemory(norm)
  for (let i = 0; i < 2000; i++) {
    norm.forward(x)
    if (i % 50 !== 49) continue
    await until(() => {
      collectGarbage()
      return usedMemory(norm) === before
    }, 'the unreachable tensors are freed')
  }
  // All 2000 outputs of 300 kB are 600 MB, the 50 between two collections 15 MB.
  assert.ok(heapSize(gpt) < 64 * 2 ** 20, `${heapSize(gpt)} bytes`)
})

test('growing the heap does not invalidate a tensor', () => {
  const x = gpt.tensor([1, 2, 3])
  const size = heapSize(gpt)
  gpt.zeros([2 ** 22])
  assert.ok(heapSize(gpt) > size)
  assert.deepEqual(x.toArray(), [1, 2, 3])
})

test('a scope frees the tensors made inside, except those it returns', () => {
  /** @type {Tensor[]} */
  const inside = []
  const { kept, list, layer } = gpt.scope(() => {
    inside.push(gpt.ones([2]))
    new gpt.Linear(2, 2)
    return { kept: gpt.ones([3]), list: [gpt.ones([1])], layer: new gpt.LayerNorm(2) }
  })
  assert.equal(inside[0].disposed, true)
  assert.deepEqual(kept.toArray(), [1, 1, 1])
  assert.deepEqual(list[0].toArray(), [1])
  assert.deepEqual([...layer.scale.data], [1, 1])
})

test('a tensor that an inner scope returns belongs to the outer scope', () => {
  /** @type {Tensor[]} */
  const returned = []
  gpt.scope(() => {
    returned.push(gpt.scope(() => gpt.ones([1])))
    assert.equal(returned[0].disposed, false)
  })
  assert.equal(returned[0].disposed, true)
})

test('a scope whose function throws or is asynchronous frees all tensors made inside', () => {
  const address = nextAddress(gpt)
  assert.throws(
    () =>
      gpt.scope(() => {
        gpt.ones([8])
        throw new Error('mine')
      }),
    /mine/,
  )
  assertRefuses(() => gpt.scope(async () => gpt.ones([8])), 'TYPE', /Promise/)
  assertRefuses(() => gpt.scope(untyped(3)), 'TYPE', /fn should be a function, got 3/)
  assert.equal(nextAddress(gpt), address)
})

test('beyond maxMemory an error says what to do, and all tensors stay', async () => {
  gpt = await loadForTest({ maxMemory: 4 })
  const size = heapSize(gpt)
  const address = nextAddress(gpt)
  assertRefuses(() => gpt.zeros([2 ** 20]), 'MEMORY', /zeros: needs 4194304 bytes.*dispose/)
  assertRefuses(() => gpt.zeros([2 ** 40]), 'MEMORY', /zeros/)
  assertRefuses(() => new gpt.Linear(1000, 1100), 'MEMORY', /Linear/)
  assert.equal(heapSize(gpt), size)
  assert.equal(nextAddress(gpt), address)
  gpt.zeros([2 ** 18])
})

test('a layer that does not fit into memory leaves the generator unchanged', async () => {
  gpt = await loadForTest({ maxMemory: 4 })
  const address = nextAddress(gpt)
  gpt.manualSeed(1)
  const expected = gpt.randn([4]).toArray()
  gpt.manualSeed(1)
  // Its first matrix fits into memory, its second does not.
  assertRefuses(() => new gpt.FeedForward({ embDim: 700, hiddenDim: 800 }), 'MEMORY', /Linear/)
  assert.deepEqual(gpt.randn([4]).toArray(), expected)
  assert.equal(nextAddress(gpt) > address, true, 'only the two tensors of randn should be there')
  assertRefuses(() => new gpt.FeedForward({ embDim: 4, approximate: untyped('erf') }), 'VALUE', /approximate/)
})

test('freed blocks are reused and merged, in any order of freeing', () => {
  const memory = new Memory(new WebAssembly.Memory({ initial: 1, maximum: 1 }), 100, 65536)
  let seed = 1
  const random = (/** @type {number} */ n) => (seed = (seed * 48271) % 2147483647) % n
  /** @type {{ offset: number, size: number }[]} */
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
  assert.equal(memory.allocate('test', 65536 - 112), 112) // All is one block again.
})
