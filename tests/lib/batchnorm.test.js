/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertClose,
  assertGradients,
  assertRefuses,
  golden,
  gradientOf,
  loadForTest,
  redraw,
  rowsOf,
  unpack,
} from './support.js'

const cases = golden('batchnorm')
const gpt = await loadForTest()

/**
 * The layer, input, gradient and next batch of a case, drawn as tests/golden/batchnorm.py draws them.
 *
 * @param {{ seed: number, numFeatures: number, shape: number[], mean: number, deviation: number }} case
 */
function drawn({ seed, numFeatures, shape, mean, deviation }) {
  gpt.manualSeed(seed)
  const layer = new gpt.BatchNorm(numFeatures)
  redraw(gpt, layer.scale)
  redraw(gpt, layer.shift)
  const x = gpt.randn(shape).mul(deviation).add(mean)
  return { layer, x, dy: gpt.randn(shape), following: gpt.randn(shape) }
}

test('BatchNorm and its gradients are PyTorch’s, also for mean 1e4 and deviation 0.1', () => {
  for (const golden of cases) {
    const { layer, x, dy } = drawn(golden)
    const { out, dx, grads } = golden
    assertGradients(layer, x, dy, { out, dx, grads }, { forward: 5e-6, backward: 2e-5 })
  }
})

test('BatchNorm’s running statistics are PyTorch’s, and so are its outputs from them after eval()', () => {
  for (const golden of cases) {
    const { layer, x, following } = drawn(golden)
    layer.forward(x)
    assertClose(layer.runningMean, golden.running_mean, 1e-6)
    assertClose(layer.runningVar, golden.running_var, 1e-6)
    layer.eval()
    layer.runningMean.data.set(unpack(golden.running_mean))
    layer.runningVar.data.set(unpack(golden.running_var))
    assertClose(layer.forward(following), golden.evaluated, 5e-6)
    assertClose(layer.runningMean, golden.running_mean, 1e-6)
  }
})

test('BatchNorm’s eps may be 0: a constant column of a batch is then the shift, as in PyTorch', () => {
  const layer = new gpt.BatchNorm(3, { eps: 0 })
  layer.shift.data.set([0, 0, 7])
  const x = gpt.parameter(
    gpt.tensor([
      [1, 2 ** -24, 5],
      [-1, -(2 ** -24), 5],
    ]),
  )
  const y = layer.forward(x)
  assert.deepEqual(rowsOf(y), [
    [1, 1, 7],
    [-1, -1, 7],
  ])
  y.backward(gpt.ones([2, 3]))
  assert.deepEqual(rowsOf(gradientOf(x)), [
    [0, 0, 0],
    [0, 0, 0],
  ])
})

test('BatchNorm of a constant column is the shift, not NaN', () => {
  const layer = new gpt.BatchNorm(3)
  layer.shift.data.set([1, -2, 0.5])
  for (const value of [0, 0.1, 1e4, 1e10, -1e30, 3e38]) {
    assert.deepEqual(layer.forward(gpt.ones([7, 3]).mul(value)).toArray(), Array(7).fill([1, -2, 0.5]))
  }
})

test('BatchNorm gives each column the bits it gets alone, on any number of threads', () => {
  const x = gpt.randn([301, 97])
  const dy = gpt.randn([301, 97])
  const column = (/** @type {Tensor} */ tensor, /** @type {number} */ c) =>
    gpt.tensor(
      Float32Array.from({ length: 301 }, (_, r) => tensor.data[97 * r + c]),
      [301, 1],
    )
  const layer = new gpt.BatchNorm(97)
  x.requiresGrad = true
  const y = layer.forward(x)
  y.backward(dy)
  const dx = gradientOf(x)
  for (const c of [0, 15, 16, 50, 96]) {
    const alone = new gpt.BatchNorm(1)
    const only = column(x, c)
    only.requiresGrad = true
    const out = alone.forward(only)
    out.backward(column(dy, c))
    assert.deepEqual([...out.data], [...column(y, c).data])
    assert.deepEqual([...gradientOf(only).data], [...column(dx, c).data])
    assert.equal(gradientOf(alone.scale).item(), gradientOf(layer.scale).data[c])
    assert.equal(gradientOf(alone.shift).item(), gradientOf(layer.shift).data[c])
    assert.equal(alone.runningVar.item(), layer.runningVar.data[c])
  }
})

test('running statistics are state but not parameters, and momentum weighs the new batch', () => {
  const layer = new gpt.BatchNorm(2, { momentum: 1 })
  assert.deepEqual(Object.keys(layer.stateDict()), ['scale', 'shift', 'running_mean', 'running_var'])
  assert.deepEqual(
    layer.namedParameters().map(([name]) => name),
    ['scale', 'shift'],
  )
  layer.forward(
    gpt.tensor([
      [1, 10],
      [3, 10],
    ]),
  )
  assert.deepEqual(layer.runningMean.toArray(), [2, 10])
  assert.deepEqual(layer.runningVar.toArray(), [2, 0])
  const copy = new gpt.BatchNorm(2)
  copy.loadStateDict(layer.stateDict())
  assert.deepEqual(copy.runningVar.toArray(), [2, 0])
})

test('a backward that needs the running statistics of before a training step is refused', () => {
  for (const name of /** @type {const} */ (['runningMean', 'runningVar'])) {
    const layer = new gpt.BatchNorm(3)
    const x = gpt.parameter(gpt.ones([2, 3]))
    const y = x.mul(layer[name])
    layer.forward(gpt.randn([4, 3]))
    assertRefuses(() => y.backward(gpt.ones([2, 3])), 'VALUE', /has changed since$/)
  }
})

test('a batch that BatchNorm refuses changes nothing; evaluation mode takes one row or none', () => {
  const layer = new gpt.BatchNorm(3)
  for (const shape of [[3], [1, 3], [0, 3]]) {
    assertRefuses(
      () => layer.forward(gpt.ones(shape)),
      'VALUE',
      /should have 2 rows or more in training mode/,
    )
  }
  assert.deepEqual(layer.runningMean.toArray(), [0, 0, 0])
  layer.eval()
  for (const shape of [[3], [1, 3], [0, 3]]) assert.deepEqual(layer.forward(gpt.ones(shape)).shape, shape)
})
