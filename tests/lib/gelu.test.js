import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertClose, golden, loadForTest, unpack } from './support.js'

const { wide } = golden('layers')
const gpt = await loadForTest()

for (const approximate of /** @type {const} */ (['tanh', 'none'])) {
  test(`GELU '${approximate}' is within 1e-6 of float64 from -1e38 to 1e38`, () => {
    const x = gpt.tensor(unpack(wide.x))
    assertClose(new gpt.GELU({ approximate }).forward(x), wide[approximate], 1e-6)
  })
}

test('GELU is the tanh form by default, as in the notebook', () => {
  assert.equal(new gpt.GELU().approximate, 'tanh')
})
