import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { assertClose, golden, loadForTest, unpack } from './support.js'

const { gelu, special } = golden('layers')
let gpt
before(async () => {
  gpt = await loadForTest()
})

for (const approximate of ['tanh', 'none']) {
  test(`GELU '${approximate}' is within 1e-6 of float64 from -1e38 to 1e38`, () => {
    assertClose(new gpt.GELU({ approximate }).forward(gpt.tensor(unpack(gelu.x))), gelu[approximate], 1e-6)
  })

  test(`GELU '${approximate}' propagates NaN and infinities as PyTorch does`, () => {
    assertClose(new gpt.GELU({ approximate }).forward(gpt.tensor(unpack(special.x))), special[approximate], 1e-6)
  })

  test(`GELU '${approximate}' at -3e38 is 0 and not a large number`, () => {
    assert.equal(Math.abs(new gpt.GELU({ approximate }).forward(gpt.tensor(-3e38)).item()), 0)
  })
}

test('GELU is the tanh form unless asked otherwise, as in the notebook', () => {
  assert.equal(new gpt.GELU().approximate, 'tanh')
})
