import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertClose,
  assertGradients,
  assertSame,
  golden,
  loadForTest,
  pack,
  rowsOf,
  unpack,
  usedMemory,
} from './support.js'

const { 'layernorm hard': hard, special } = golden('layers')
const backward = golden('layernorm')
const gpt = await loadForTest()

for (const { seed, shape, mean, deviation, out } of hard) {
  test(`layer norm is within 5e-6 of float64: mean ${mean}, deviation ${deviation}, ${shape[1]} wide`, () => {
    gpt.manualSeed(seed)
    const x = gpt.randn(shape).mul(deviation).add(mean)
    x.data[shape[1]] += Math.fround(30 * deviation) // an outlier at the start of a row
    assertClose(new gpt.LayerNorm(shape[1]).forward(x), out, 5e-6)
  })
}

test('layer norm of a constant row is the shift, not NaN', () => {
  const norm = new gpt.LayerNorm(7)
  norm.shift?.data.set([1, -2, 3, 0, 5, 0.5, 7])
  for (const value of [0, 0.1, -7, 1e-30, 1e4, 1e30, 3e38]) {
    assert.deepEqual(
      [...norm.forward(gpt.tensor(Array(7).fill(value))).data],
      [...(norm.shift?.data ?? [])],
      `rows of ${value}`,
    )
  }
})

test('layer norm of rows on which others gave NaN or too coarse values is right', () => {
  /** @param {number[]} row @param {number[]} expected */
  const assertRow = (row, expected) => {
    const y = new gpt.LayerNorm(row.length, { bias: false }).forward(gpt.tensor(row))
    assertClose(y, pack(Float32Array.from(expected), [row.length]), 5e-6)
  }
  // microsoft/onnxruntime#28463
  assertRow([40000, 40001, 40002, 40003], [-1.3416354, -0.4472118, 0.4472118, 1.3416354])
  // microsoft/onnxruntime#21935
  assertRow(Array(256).fill(1234), Array(256).fill(0))
  // tracel-ai/burn#5607; the values of PyTorch in float64, of these numbers in float32
  const half = [0.08875556, 0.26626667, 0.44377778, 0.6212889, 0.79880001, 0.97631112, 1.15382224, 1.33133335]
  assertRow(
    Array.from({ length: 16 }, (_, i) => 1e4 + i * 1e-3),
    [...half.map((value) => -value).reverse(), ...half],
  )
})

test('layer norm of rows far from 0 has variance 1', () => {
  // pytorch/pytorch#51102 and #40302
  for (const [shape, mean, deviation] of /** @type {const} */ ([
    [[200, 4], 2000, 1],
    [[4, 32768], 100, 0.01],
  ])) {
    gpt.manualSeed(5)
    const x = gpt.randn(shape).mul(deviation).add(mean)
    const variances = new gpt.LayerNorm(shape[1], { eps: 0 }).forward(x).var({ dim: 1, correction: 0 })
    for (const variance of variances.data) assert.ok(Math.abs(variance - 1) <= 1e-3, `${variance}`)
  }
})

test('the last of 65,536 and of 65,537 rows is normalized as it is alone', () => {
  const norm = new gpt.LayerNorm(3)
  for (const rows of [65_536, 65_537]) {
    const x = gpt.randn([rows, 3]) // NVIDIA/apex#411
    assert.deepEqual(norm.forward(x).at(-1).toArray(), norm.forward(x.at(-1)).toArray())
  }
})

test('layer norm without a bias has the bits of one whose shift is 0, and no shift in its state dict', () => {
  for (const size of [1, 3, 17, 33, 768]) {
    const [norm, bare] = [new gpt.LayerNorm(size), new gpt.LayerNorm(size, { bias: false })]
    const scale = gpt.randn([size])
    norm.loadStateDict({ scale, shift: gpt.zeros([size]) })
    bare.loadStateDict({ weight: scale })
    assert.deepEqual(Object.keys(bare.stateDict()), ['scale'])
    const results = [norm, bare].map((layer) => {
      gpt.manualSeed(size)
      const x = gpt.randn([4, size])
      x.requiresGrad = true
      const y = layer.forward(x)
      y.backward(gpt.randn([4, size]))
      return [y, x.grad, layer.scale?.grad].map((tensor) => tensor?.toArray())
    })
    assert.deepEqual(results[1], results[0])
  }
})

test('a NaN or an infinity makes its own row NaN and no other row, as in PyTorch', () => {
  const norm = new gpt.LayerNorm(5)
  assertSame(norm.forward(gpt.tensor(unpack(special.rows), special.rows.shape)), special.layernorm)
  const mixed = gpt.tensor([
    [1, 2, 3, 4, 5],
    [1, NaN, 3, 4, 5],
    [1, 2, 3, 4, 5],
  ])
  const [first, second, third] = rowsOf(norm.forward(mixed))
  assert.deepEqual(first, third)
  assert.ok(second.every(Number.isNaN))
  assert.ok(first.every(Number.isFinite))
})

test('a new LayerNorm has scale 1, shift 0 and eps 1e-5, and adds eps to the variance', () => {
  const norm = new gpt.LayerNorm(3)
  assert.deepEqual([...(norm.scale?.data ?? [])], [1, 1, 1])
  assert.deepEqual([...(norm.shift?.data ?? [])], [0, 0, 0])
  assert.equal(norm.eps, 1e-5)
  const wide = new gpt.LayerNorm(2, { eps: 3 }).forward(gpt.tensor([-1, 1]))
  assert.deepEqual([...wide.data], [-0.5, 0.5])
})

test('eps may be 0: a constant row is then NaN, PyTorch’s 0/0', () => {
  const norm = new gpt.LayerNorm(2, { eps: 0 })
  const [whole, tiny, constant] = rowsOf(
    norm.forward(
      gpt.tensor([
        [1, -1],
        [2 ** -24, -(2 ** -24)],
        [3, 3],
      ]),
    ),
  )
  assert.deepEqual(whole, [1, -1])
  assert.deepEqual(tiny, [1, -1])
  assert.ok(constant.every(Number.isNaN))
})

test('a row gives the same bits alone and among other rows', () => {
  gpt.manualSeed(3)
  const norm = new gpt.LayerNorm(65)
  const many = gpt.randn([5, 65])
  const alone = gpt.tensor(many.data.slice(65 * 3, 65 * 4))
  assert.deepEqual([...norm.forward(alone).data], [...norm.forward(many).data.slice(65 * 3, 65 * 4)])
})

/**
 * The layer and dy of a case, drawn after its x.
 *
 * @param {number[]} shape of x
 */
function drawn(shape) {
  const embDim = shape[shape.length - 1]
  const norm = new gpt.LayerNorm(embDim)
  norm.loadStateDict({ scale: gpt.randn([embDim]), shift: gpt.randn([embDim]) })
  return { norm, dy: gpt.randn(shape) }
}

test('layer norm’s values and gradients are PyTorch’s at odd sizes, over many rows and at 768', () => {
  for (const { seed, shape, ...expected } of backward.cases) {
    gpt.manualSeed(seed)
    const x = gpt.randn(shape)
    const { norm, dy } = drawn(shape)
    assertGradients(norm, x, dy, expected, { forward: 5e-6, backward: 2e-6 })
  }
})

for (const { seed, shape, mean, deviation, ...expected } of backward.hard) {
  test(`layer norm’s values and gradients are PyTorch’s: mean ${mean}, deviation ${deviation}, ${shape[1]} wide`, () => {
    gpt.manualSeed(seed)
    const x = gpt.randn(shape).mul(deviation).add(mean)
    const { norm, dy } = drawn(shape)
    assertGradients(norm, x, dy, expected, { forward: 5e-6, backward: 2e-6 })
  })
}

test('layer norm over several axes and its gradients are PyTorch’s, which it loads', () => {
  for (const { seed, shape, normalizedShape, out, dx, grads } of backward.axes) {
    gpt.manualSeed(seed)
    const x = gpt.randn(shape)
    const norm = new gpt.LayerNorm(normalizedShape)
    norm.loadStateDict({ weight: gpt.randn(normalizedShape), bias: gpt.randn(normalizedShape) })
    const expected = { out, dx, grads: { scale: grads.weight, shift: grads.bias } }
    assertGradients(norm, x, gpt.randn(shape), expected, { forward: 5e-6, backward: 2e-6 })
  }
  const norm = new gpt.LayerNorm([2, 3])
  assert.equal(String(norm), 'LayerNorm((2, 3), eps=1e-05)')
  assert.equal(norm.embDim, 6)
  assert.deepEqual(norm.normalizedShape, [2, 3])
  assert.equal(String(new gpt.LayerNorm([5])), String(new gpt.LayerNorm(5)))
})

test('layer norm keeps each row’s mean and rstd until backward, and not in noGrad', () => {
  const norm = new gpt.LayerNorm(4)
  const x = gpt.randn([1000, 4])
  const before = usedMemory(gpt)
  const y = gpt.noGrad(() => gpt.scope(() => norm.forward(x)))
  assert.equal(usedMemory(gpt), before + 16_000)
  y.dispose()
  const loss = gpt.scope(() => norm.forward(x).sum())
  assert.ok(usedMemory(gpt) >= before + 2 * 4000)
  loss.backward()
  loss.dispose()
  norm.zeroGrad()
  assert.equal(usedMemory(gpt), before)
})
