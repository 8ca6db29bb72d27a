import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertClose,
  assertGradients,
  assertNear,
  assertRefuses,
  assertSame,
  backwardThrough,
  biasOf,
  golden,
  gradientOf,
  loadForTest,
  redraw,
  rowsOf,
  transpose,
} from './support.js'

const { odd, gpt2, weights } = golden('conv1d')
const gpt = await loadForTest()

test('a new Conv1D has the weights that PyTorch draws, bit for bit, and a bias of zeros', () => {
  for (const { nx, nf, weight } of weights) {
    gpt.manualSeed(42)
    const layer = new gpt.Conv1D(nf, nx)
    assertSame(layer.weight, weight)
    assert.deepEqual([...biasOf(layer).data], Array(nf).fill(0))
  }
  assert.deepEqual(
    new gpt.Conv1D(6, 5).namedParameters().map(([name, { shape }]) => `${name} ${shape.join('x')}`),
    ['weight 5x6', 'bias 6'],
  )
})

test('Conv1D and its gradients are those of GPT-2’s class at odd sizes', () => {
  for (const { seed, nx, nf, x, dy, ...expected } of odd) {
    gpt.manualSeed(seed)
    const layer = new gpt.Conv1D(nf, nx)
    const [input, gradient] = [gpt.randn(x), gpt.randn(dy)]
    redraw(gpt, biasOf(layer))
    assertGradients(layer, input, gradient, expected)
  }
})

test('Conv1D and its gradients are those of GPT-2’s class at the size of c_attn', () => {
  for (const { seed, nx, nf, x, dy, out, dx, dweight, dbias } of gpt2) {
    gpt.manualSeed(seed)
    const layer = new gpt.Conv1D(nf, nx)
    const [rows] = x
    const input = gpt.randn(x)
    input.requiresGrad = true
    const y = layer.forward(input)
    assertClose(gpt.tensor(rowsOf(y)[rows - 1]), out, 1e-5)
    y.backward(gpt.randn(dy))
    assertNear(gradientOf(input), dx, 2e-5, 'dx')
    assertNear(gpt.tensor(rowsOf(gradientOf(layer.weight))[7]), dweight, 2e-5, 'dweight')
    assertNear(gradientOf(biasOf(layer)), dbias, 2e-5, 'dbias')
    layer.dispose()
    layer.zeroGrad()
  }
})

test('Conv1D with a transposed weight is Linear', () => {
  const linear = new gpt.Linear(65, 33)
  const layer = new gpt.Conv1D(33, 65)
  layer.loadStateDict({ weight: transpose(gpt, linear.weight), bias: biasOf(linear) })
  const x = gpt.randn([2, 9, 65])
  const [a, b] = [layer.forward(x), linear.forward(x)]
  assert.deepEqual(a.shape, [2, 9, 33])
  a.data.forEach((value, i) => assert.ok(Math.abs(value - b.data[i]) < 1e-6, `element ${i}: ${value}`))
})

test('Conv1D takes a vector and an empty batch, with a bias or without', () => {
  const layer = new gpt.Conv1D(3, 5, { bias: false })
  assert.equal(layer.bias, null)
  assert.deepEqual(layer.forward(gpt.zeros([5])).shape, [3])
  layer
    .forward(gpt.ones([530, 5]))
    .sum()
    .backward()
  assert.deepEqual(gradientOf(layer.weight).toArray(), Array(5).fill(Array(3).fill(530)))
  layer.zeroGrad()
  assert.deepEqual(layer.forward(gpt.zeros([0, 5])).shape, [0, 3])
  assert.deepEqual(backwardThrough(layer, gpt.zeros([0, 5]), gpt.zeros([0, 3])).shape, [0, 5])
  assert.deepEqual(gradientOf(layer.weight).toArray(), Array(5).fill(Array(3).fill(0)))
})

test('a backward after Conv1D’s weight was disposed is refused, and changes no gradient', () => {
  const layer = new gpt.Conv1D(3, 5)
  const x = gpt.parameter(gpt.ones([2, 5]))
  const loss = layer.forward(x).sum()
  layer.weight.dispose()
  const message = /^backward: a tensor of shape \[5, 3\] should be live, .* got one that was disposed$/
  assertRefuses(() => loss.backward(), 'DISPOSED', message)
  assert.deepEqual([biasOf(layer).grad, x.grad], [null, null])
})
