/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { assertClose, assertRefuses, assertSame, golden, loadForTest, unpack, untyped } from './support.js'

const { reductions, broadcasts } = golden('tensor')
const { special } = golden('layers')
const { products, orders, pieces } = golden('matrix')
const gpt = await loadForTest()

test('mean and var over any axis, or all, are PyTorch’s', () => {
  for (const { shape, dim, keepdim, unbiased, mean, var: variance } of reductions) {
    gpt.manualSeed(1)
    const x = gpt.randn(shape)
    const axis = dim ?? undefined
    assertClose(x.mean({ dim: axis, keepdim }), mean, 1e-6)
    assertClose(x.var({ dim: axis, keepdim, unbiased }), variance, 1e-6)
  }
})

test('add, sub, mul and div broadcast as in PyTorch, bit for bit', () => {
  for (const { a, b, ...expected } of broadcasts) {
    gpt.manualSeed(1)
    const x = gpt.randn(a)
    const y = gpt.randn(b)
    for (const name of /** @type {const} */ (['add', 'sub', 'mul', 'div']))
      assertSame(x[name](y), expected[name])
  }
})

test('matmul is PyTorch’s product, for each pair of matrices of the leading axes', () => {
  for (const { a, b, product } of products) {
    gpt.manualSeed(1)
    assertClose(gpt.randn(a).matmul(gpt.randn(b)), product, 2e-6)
  }
  const x = gpt.ones([2, 3, 4])
  assertRefuses(
    () => x.matmul(gpt.ones([3, 5])),
    'SHAPE',
    /^matmul: other should have shape \[4, cols\].*got shape \[3, 5\]$/,
  )
  assertRefuses(
    () => x.matmul(gpt.ones([3, 4, 5])),
    'SHAPE',
    /^matmul: other should have shape \[2, 4, cols\]/,
  )
  assertRefuses(() => x.matmul(gpt.ones([4])), 'SHAPE', /^matmul: other should have/)
  assertRefuses(() => gpt.ones([4]).matmul(x), 'SHAPE', /^matmul: other should have/)
  assertRefuses(() => x.matmul(untyped(2)), 'TYPE', /^matmul: other should be a Tensor, got 2/)
})

test('permute reorders the axes and split cuts one, as in PyTorch', () => {
  for (const { shape, dims, permuted } of orders) {
    gpt.manualSeed(1)
    assertSame(gpt.randn(shape).permute(dims), permuted)
  }
  for (const { shape, size, dim, pieces: expected } of pieces) {
    gpt.manualSeed(1)
    const found = gpt.randn(shape).split(size, { dim })
    assert.equal(found.length, expected.length)
    found.forEach((/** @type {Tensor} */ piece, /** @type {number} */ i) => assertSame(piece, expected[i]))
  }
  const x = gpt.zeros([2, 3, 5])
  assert.deepEqual(x.permute([0, -1, 1]).shape, [2, 5, 3])
  for (const dims of [[0, 1], [0, 1, 1], [0, 1, 3], undefined, 2]) {
    assertRefuses(
      () => x.permute(untyped(dims)),
      'VALUE',
      /^permute: dims should name each of 3 axes once, got/,
    )
  }
  assertRefuses(() => x.split(0), 'VALUE', /^split: size should be/)
  assertRefuses(() => x.split(2, { dim: 3 }), 'VALUE', /^split: dim should be an axis from -3 to 2/)
})

test('a number stands for a tensor of that value', () => {
  const x = gpt.tensor([
    [1, 2],
    [3, 4],
  ])
  assert.deepEqual(x.add(1).toArray(), [
    [2, 3],
    [4, 5],
  ])
  assert.deepEqual(x.sub(1).toArray(), [
    [0, 1],
    [2, 3],
  ])
  assert.deepEqual(x.mul(-2).toArray(), [
    [-2, -4],
    [-6, -8],
  ])
  assert.deepEqual(x.div(0).toArray(), [
    [Infinity, Infinity],
    [Infinity, Infinity],
  ])
})

test('NaN and infinities propagate as in PyTorch', () => {
  const rows = gpt.tensor(unpack(special.rows), special.rows.shape)
  const x = gpt.tensor(unpack(special.x))
  assertSame(rows.mean({ dim: -1 }), special.mean)
  assertSame(rows.var({ dim: -1 }), special.var)
  assertSame(x.sqrt(), special.sqrt)
  assertSame(gpt.tensor(1).div(x), special.div)
})

test('tensor takes a number, nested arrays, and flat or typed arrays with a shape', () => {
  assert.deepEqual(gpt.tensor(3).shape, [])
  assert.equal(gpt.tensor(3).item(), 3)
  assert.deepEqual(
    gpt.tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]).shape,
    [2, 3],
  )
  assert.deepEqual(gpt.tensor([1, 2, 3, 4], [2, 2]).toArray(), [
    [1, 2],
    [3, 4],
  ])
  assert.deepEqual(gpt.tensor(new Float64Array([1, 2]), [2, 1]).toArray(), [[1], [2]])
  assert.deepEqual(gpt.tensor([untyped(new Uint8Array([1, 255])), [2, 3]]).toArray(), [
    [1, 255],
    [2, 3],
  ])
  assert.deepEqual(gpt.tensor([]).shape, [0])
  assert.deepEqual(gpt.tensor([[], []]).shape, [2, 0])
  assert.equal(gpt.tensor([0.1]).item(), Math.fround(0.1))
})

test('tensor refuses values of uneven length, wrong type or wrong size, and names the place', () => {
  assertRefuses(() => gpt.tensor([[1, 2], [3]]), 'SHAPE', /values\[1\] should have shape \[2\]/)
  assertRefuses(
    () => gpt.tensor([[1, untyped('2')]]),
    'TYPE',
    /values\[0\]\[1\] should be a number or an array, got "2"/,
  )
  assertRefuses(() => gpt.tensor([1, [2]]), 'SHAPE', /values\[1\]/)
  assertRefuses(() => gpt.tensor([1, 2, 3], [2, 2]), 'SHAPE', /4 elements.*got shape \[3\]/)
  assertRefuses(() => gpt.tensor([[1, 2]], [2, 1]), 'SHAPE', /shape \[2, 1\], got shape \[1, 2\]/)
  assertRefuses(() => gpt.tensor(untyped(new BigInt64Array(2))), 'TYPE', /values/)
  assertRefuses(() => gpt.tensor(untyped(undefined)), 'TYPE', /values should be/)
  assertRefuses(() => gpt.tensor([1], untyped(1)), 'TYPE', /shape should be an array of sizes, got 1/)
  assertRefuses(() => gpt.tensor([1], [1.5]), 'VALUE', /shape\[0\]/)
})

test('data is a view of the live memory', () => {
  const x = gpt.zeros([2, 2])
  x.data[3] = 7
  assert.deepEqual(x.toArray(), [
    [0, 0],
    [0, 7],
  ])
  assert.equal(x.data.byteOffset, x.byteOffset)
  assert.equal(x.data.buffer, gpt.exports.memory.buffer)
})

test('reshape shares the memory, computes -1, and outlives the tensor it came from', () => {
  const x = gpt.tensor([1, 2, 3, 4, 5, 6])
  const y = x.reshape([2, -1])
  assert.deepEqual(y.shape, [2, 3])
  y.data[0] = 9
  assert.equal(x.data[0], 9)
  x.dispose()
  gpt.zeros([6])
  assert.deepEqual(y.toArray(), [
    [9, 2, 3],
    [4, 5, 6],
  ])
  assertRefuses(() => y.reshape([4]), 'SHAPE', /hold 6 elements, got \[4\]/)
  assertRefuses(() => y.reshape([-1, 4]), 'SHAPE', /hold 6 elements/)
  assertRefuses(() => y.reshape([-1, -1]), 'VALUE', /non-negative/)
  assertRefuses(() => gpt.zeros([0]).reshape([-1, 0]), 'SHAPE', /hold 0 elements/)
  assert.deepEqual(gpt.zeros([0, 3]).reshape([2, 0]).shape, [2, 0])
})

test('a clone has its own memory', () => {
  const x = gpt.tensor([1, 2])
  const y = x.clone()
  x.data[0] = 5
  assert.deepEqual(y.toArray(), [1, 2])
})

test('using a disposed tensor is an error; disposing it again is not', () => {
  const x = gpt.ones([2])
  x.dispose()
  x.dispose()
  assert.equal(x.disposed, true)
  assert.deepEqual(x.shape, [2])
  const uses = [
    () => x.data,
    () => x.byteOffset,
    () => x.item(),
    () => x.toArray(),
    () => x.toString(),
    () => x.clone(),
    () => x.reshape([2]),
    () => x.mean(),
    () => x.var(),
    () => x.sqrt(),
    () => x.add(1),
    () => gpt.ones([2]).add(x),
    () => new gpt.ReLU().forward(x),
  ]
  for (const use of uses) assertRefuses(use, 'DISPOSED', /disposed/)
})

test('console.log shows a tensor as PyTorch prints it', () => {
  assert.equal(inspect(gpt.tensor([1, 2])), 'tensor([1., 2.])')
  assert.equal(inspect({ x: gpt.tensor(0.5) }), '{ x: tensor(0.5000) }')
})

test('toString takes sciMode and precision', () => {
  const x = gpt.tensor([0.5, 1e-5])
  assert.equal(String(x), 'tensor([5.0000e-01, 1.0000e-05])')
  assert.equal(x.toString({ sciMode: false, precision: 2 }), 'tensor([    0.50,     0.00])')
  assertRefuses(() => x.toString({ sciMode: untyped(1) }), 'TYPE', /sciMode should be true or false, got 1/)
  assertRefuses(() => x.toString({ precision: -1 }), 'VALUE', /precision/)
  assertRefuses(() => x.toString(untyped({ digits: 2 })), 'VALUE', /sciMode, precision, got "digits"/)
})
