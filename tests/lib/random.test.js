import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import { assertSame, golden, loadForTest } from './support.js'

const { cases, digests, linears } = golden('random')
let gpt
before(async () => {
  gpt = await loadForTest()
})

test('randn and rand draw PyTorch’s bits at every size around 16, for every kind of seed', () => {
  for (const { seed, calls, expected } of cases) {
    gpt.manualSeed(seed)
    calls.forEach(([name, shape], i) => assertSame(gpt[name](shape), expected[i]))
  }
})

for (const { seed, name, n, sha256 } of digests) {
  test(`${name} draws PyTorch’s bits ${n} times over`, () => {
    gpt.manualSeed(seed)
    const tensor = gpt[name]([n])
    assert.equal(createHash('sha256').update(tensor.data).digest('hex'), sha256)
    tensor.dispose()
  })
}

test('a new Linear has the weights nn.Linear has after the same seed', () => {
  for (const { inFeatures, outFeatures, weight, bias } of linears) {
    gpt.manualSeed(42)
    const layer = new gpt.Linear(inFeatures, outFeatures, { bias: bias !== null })
    assertSame(layer.weight, weight)
    if (bias) assertSame(layer.bias, bias)
    else assert.equal(layer.bias, null)
  }
})

test('an instance that was never seeded starts somewhere else than another', async () => {
  const other = await loadForTest()
  assert.notDeepEqual([...gpt.randn([4]).data], [...other.randn([4]).data])
})

test('instances draw independently: seeding one does not touch the other', async () => {
  const other = await loadForTest()
  gpt.manualSeed(1)
  other.manualSeed(1)
  const first = gpt.randn([3]).toArray()
  gpt.randn([20])
  assert.deepEqual(other.randn([3]).toArray(), first)
})
