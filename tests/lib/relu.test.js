import { before, test } from 'node:test'
import { load } from 'gpt-layers'
import { assertSame, golden, unpack } from './support.js'

const { special } = golden('layers')
let gpt
before(async () => {
  gpt = await load()
})

test('ReLU is PyTorch’s, for NaN, infinities and both zeros as well', () => {
  assertSame(new gpt.ReLU().forward(gpt.tensor(unpack(special.x))), special.relu)
})
