import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertClose, backwardThrough, golden, loadForTest, unpack } from './support.js'

const { special } = golden('layers')
const gpt = await loadForTest()

test('GELU’s tails from -2.5 to -6 are PyTorch’s, neither too large nor 0 too soon', () => {
  const tails = {
    tanh: [-0.015084266, -0.003637392, -7.0245943e-5, -2.291796e-7, -8.43965e-11],
    none: [-0.015524163, -0.004049694, -1.2668497e-4, -1.4332579e-6, -5.919526e-9],
  }
  for (const approximate of /** @type {const} */ (['tanh', 'none'])) {
    const { data } = new gpt.GELU({ approximate }).forward(gpt.tensor([-2.5, -3, -4, -5, -6]))
    tails[approximate].forEach((value, i) => assert.ok(Math.abs(data[i] - value) <= 1e-6, `${data[i]}`))
  }
})

for (const approximate of /** @type {const} */ (['tanh', 'none'])) {
  test(`GELU '${approximate}' is within 1e-6 of float64 from -1e38 to 1e38`, () => {
    assertClose(
      new gpt.GELU({ approximate }).forward(gpt.tensor(unpack(special.wide.x))),
      special.wide[approximate],
      1e-6,
    )
  })

  test(`GELU '${approximate}' of NaN and infinities is PyTorch’s`, () => {
    assertClose(
      new gpt.GELU({ approximate }).forward(gpt.tensor(unpack(special.x))),
      special[approximate],
      1e-6,
    )
  })

  test(`GELU '${approximate}' of -3e38 is 0`, () => {
    assert.equal(Math.abs(new gpt.GELU({ approximate }).forward(gpt.tensor(-3e38)).item()), 0)
  })

  test(`GELU '${approximate}' has autograd’s gradient for NaN, infinities and the largest float32s`, () => {
    const layer = new gpt.GELU({ approximate })
    const x = gpt.tensor(unpack(special.x))
    assertClose(backwardThrough(layer, x, gpt.ones(x.shape)), special[`${approximate} gradient`], 1e-6)
  })
}

test('GELU is the tanh form by default, as in the notebook', () => {
  assert.equal(new gpt.GELU().approximate, 'tanh')
})
