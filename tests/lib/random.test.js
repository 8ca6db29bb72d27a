import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { assertSame, golden, load, loadForTest } from './support.js'

const { cases, digests } = golden('random')
const gpt = await loadForTest()

test('randn and rand draw PyTorch’s bits at sizes around 16, for every kind of seed', () => {
  for (const { seed, calls, expected } of cases) {
    gpt.manualSeed(seed)
    calls.forEach((/** @type {['randn' | 'rand', number[]]} */ [name, shape], /** @type {number} */ i) =>
      assertSame(gpt[name](shape), expected[i]),
    )
  }
})

for (const { seed, name, n, sha256 } of digests) {
  test(`${n} numbers of ${name} are PyTorch’s bits`, () => {
    gpt.manualSeed(seed)
    const tensor = gpt[/** @type {'randn' | 'rand'} */ (name)]([n])
    assert.equal(createHash('sha256').update(tensor.data).digest('hex'), sha256)
    tensor.dispose()
  })
}

test('two instances that were never seeded draw different numbers', async () => {
  const [one, other] = [await load(), await load()]
  assert.notDeepEqual([...one.randn([4]).data], [...other.randn([4]).data])
})

test('two instances draw independently: seeding one does not touch the other', async () => {
  const other = await loadForTest()
  gpt.manualSeed(1)
  other.manualSeed(1)
  const first = gpt.randn([3]).toArray()
  gpt.randn([20])
  assert.deepEqual(other.randn([3]).toArray(), first)
})
