/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertClose,
  assertRefuses,
  golden,
  gradientOf,
  loadForTest,
  shake,
  rowsOf,
  unpack,
} from './support.js'

const gpt = await loadForTest()

test('BatchNorm’s running statistics are PyTorch’s, and so are its outputs from them after eval()', () => {
  /** @type {any[]} */
  const cases = golden('layers').cases.filter((/** @type {any} */ { layer }) => layer === 'BatchNorm')
  for (const { args, shape, mean, deviation, buffers, evaluated } of cases) {
    gpt.manualSeed(1)
    const layer = shake(gpt, new gpt.BatchNorm(args[0]))
    layer.forward(gpt.randn(shape).mul(deviation).add(mean))
    assertClose(layer.runningMean, buffers.running_mean, 1e-6)
    assertClose(layer.runningVar, buffers.running_var, 1e-6)
    layer.eval()
    layer.runningMean.data.set(unpack(buffers.running_mean))
    layer.runningVar.data.set(unpack(buffers.running_var))
    gpt.randn(shape) // PyTorch's dy
    assertClose(layer.forward(gpt.randn(shape)), evaluated, 5e-6)
    assertClose(layer.runningMean, buffers.running_mean, 1e-6)
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
    assertRefuses(
      () => y.backward(gpt.ones([2, 3])),
      'VALUE',
      "backward: a tensor of shape [3] should be as it was in the forward, got one that, say, an optimizer's step has changed since",
    )
  }
})

test('a batch that BatchNorm refuses changes nothing; evaluation mode takes one row or none', () => {
  const layer = new gpt.BatchNorm(3)
  for (const shape of [[3], [1, 3], [0, 3]]) {
    assertRefuses(
      () => layer.forward(gpt.ones(shape)),
      'VALUE',
      `BatchNorm.forward: x should have 2 rows or more in training mode, got shape [${shape.join(', ')}]`,
    )
  }
  assert.deepEqual(layer.runningMean.toArray(), [0, 0, 0])
  layer.eval()
  for (const shape of [[3], [1, 3], [0, 3]]) assert.deepEqual(layer.forward(gpt.ones(shape)).shape, shape)
})
