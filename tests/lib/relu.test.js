import { before, test } from 'node:test'
import { assertSame, golden, loadForTest, unpack } from './support.js'

const { special } = golden('layers')
let gpt
before(async () => {
  gpt = await loadForTest()
})

test('ReLU is PyTorch’s, for NaN, infinities and both zeros as well', () => {
  assertSame(new gpt.ReLU().forward(gpt.tensor(unpack(special.x))), special.relu)
})
