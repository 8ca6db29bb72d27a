import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { mergedAxes } from '../../build/lib/tensor/shape.js'
import { assertRefuses, loadForTest, untyped } from './support.js'

const gpt = await loadForTest()

test('var divides by n less any correction, and by 0 below, as PyTorch', () => {
  const x = gpt.tensor([
    [1, 2, 4],
    [1, 1, 1],
  ])
  for (const [correction, expected] of /** @type {const} */ ([
    [0, 14 / 9],
    [2, 14 / 3],
    [-2, 14 / 15],
    [0.5, 28 / 15],
  ])) {
    const [first, second] = x.var({ dim: 1, correction }).data
    assert.ok(Math.abs(first - expected) <= 1e-6, `correction ${correction}: ${first}`)
    assert.equal(second, 0)
  }
  for (const correction of [3, 4]) assert.deepEqual(x.var({ dim: 1, correction }).toArray(), [Infinity, NaN])
  assert.equal(x.var({ correction: 1 }).item(), x.var().item())
})

test('a kernel broadcasts over as few axes as possible', () => {
  assert.deepEqual(mergedAxes([2, 3, 4], [2, 3, 4], [2, 3, 4]), [{ size: 24, steps: [1, 1] }])
  assert.deepEqual(mergedAxes([2, 1, 3], [2, 1, 3], []), [{ size: 6, steps: [1, 0] }])
  assert.deepEqual(mergedAxes([2, 3, 4], [2, 3, 1], [3, 4]), [
    { size: 2, steps: [3, 0] },
    { size: 3, steps: [1, 4] },
    { size: 4, steps: [0, 1] },
  ])
  assert.deepEqual(mergedAxes([1, 1], [1], [1, 1]), [])
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

test(
  'a Float16Array is exact, as values and as tokens',
  { skip: !('Float16Array' in globalThis) && `Node ${process.version} has no Float16Array` },
  () => {
    const { Float16Array } = untyped(globalThis)
    const numbers = [0.1, -0, 65504, 2 ** -24, 1 / 3, -Infinity, NaN]
    const values = new Float16Array(numbers)
    assert.deepEqual(gpt.tensor(values).toArray(), [...values])
    assert.deepEqual(gpt.tensor(values.subarray(1, 5), [2, 2]).toArray(), [
      [-0, 65504],
      [2 ** -24, values[4]],
    ])
    const embedding = new gpt.Embedding(2049, 1)
    assert.equal(embedding.forward(Float16Array.of(2048)).item(), embedding.weight.data[2048])
  },
)

test('arrays and typed arrays of another realm are taken like our own', () => {
  const foreign = runInNewContext(`({
    nested: [[1, 2], [3, 4]], typed: new Float64Array([1, 2, 3, 4]), shape: [2, 2], tokens: new Int32Array([1, 0]),
  })`)
  const expected = [
    [1, 2],
    [3, 4],
  ]
  assert.deepEqual(gpt.tensor(foreign.nested).toArray(), expected)
  assert.deepEqual(gpt.tensor(foreign.typed, foreign.shape).toArray(), expected)
  assert.deepEqual(gpt.tensor([untyped(foreign.typed)]).toArray(), [[1, 2, 3, 4]])
  const tracking = Reflect.construct(ArrayBuffer, [8, { maxByteLength: 64 }])
  assert.deepEqual(gpt.tensor(new Float32Array(tracking)).shape, [2])
  assert.deepEqual(new gpt.Embedding(2, 3).forward(foreign.tokens).shape, [2, 3])
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

test('nobody can change a shape, which kernels rely on', () => {
  const x = gpt.ones([2, 3])
  const weight = new gpt.Linear(2, 2).quantize().int8Weight
  for (const { shape } of [x, x.reshape([3, 2]), x.mul(2), x.at(0), untyped(weight)])
    assert.throws(() => (shape[0] = 9), TypeError)
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
})

test('an assigned gradient that was disposed counts as none', () => {
  const layer = new gpt.Linear(2, 2)
  const gradient = gpt.ones([2, 2])
  layer.weight.grad = gradient
  gradient.dispose()
  layer
    .forward(gpt.ones([1, 2]))
    .sum()
    .backward()
  assert.deepEqual(layer.weight.grad.toArray(), [
    [1, 1],
    [1, 1],
  ])
})

test('tensors that are each other’s gradients are disposed one by one: each is its own', () => {
  const chain = Array.from({ length: 3 }, () => gpt.zeros([]))
  chain.forEach((x, i) => (x.grad = chain[(i + 1) % chain.length]))
  for (const [i, x] of chain.entries()) {
    x.dispose()
    assert.deepEqual(
      chain.map(({ disposed }) => disposed),
      chain.map((_, j) => j <= i),
    )
  }
})

test('a tensor can be made of its own data, also when that grows the heap', async () => {
  const own = await loadForTest()
  const x = own.randn([1000, 300])
  const before = own.exports.memory.buffer.byteLength
  const copies = [own.tensor(x.data, x.shape)]
  while (own.exports.memory.buffer.byteLength === before) copies.push(own.tensor(x.data, x.shape))
  for (const copy of copies) assert.deepEqual(copy.data, x.data)
  // The `slice` of a Buffer does not copy.
  const { buffer, byteOffset } = x.data
  const bytes = [...new Uint8Array(buffer, byteOffset, 300_000)]
  const end = buffer.byteLength
  while (own.exports.memory.buffer.byteLength === end) {
    const copy = own.tensor(Buffer.from(own.exports.memory.buffer, byteOffset, 300_000))
    assert.deepEqual([...copy.data], bytes)
  }
})

test('no tensor has a shape with anything but integers >= 0, whoever makes it', () => {
  const { empty } = untyped(gpt.Tensor)
  for (const size of [-1, 0.5, NaN, Infinity, 2 ** 53, '2', true, null, undefined]) {
    for (const shape of [[size], [4, size], [0, size], [size, size]])
      assertRefuses(() => empty(shape), 'VALUE', /the result should have sizes that are integers >= 0/)
  }
  assertRefuses(
    () => empty([2 ** 53 - 1]),
    'MEMORY',
    'needs 36028797018963964 bytes for shape [9007199254740991], and a tensor may have 2147483520',
  )
  for (const shape of [[], [0], [3, 0, 2]]) assert.deepEqual(empty(shape).shape, shape)
})

test('toString takes sciMode and precision', () => {
  const x = gpt.tensor([0.5, 1e-5])
  assert.equal(String(x), 'tensor([5.0000e-01, 1.0000e-05])')
  assert.equal(x.toString({ sciMode: false, precision: 2 }), 'tensor([    0.50,     0.00])')
})

test('Embedding and crossEntropy take the indices that argmax and max return', () => {
  const logits = gpt.tensor([
    [0, 9, 1],
    [5, 2, 3],
  ])
  const tokens = logits.argmax({ dim: -1 })
  assert.deepEqual(tokens.toArray(), [1, 0])
  assert.deepEqual(new gpt.Embedding(3, 4).forward(tokens).shape, [2, 4])
  assert.deepEqual(new gpt.Embedding(3, 4).forward(logits.at(0).argmax()).shape, [4])
  assert.ok(gpt.crossEntropy(logits, logits.max({ dim: 1 }).indices).item() < 0.1)
})

test('JSON has a tensor as nested arrays, and null for NaN and infinities', () => {
  const x = gpt.tensor([
    [1, 0.5],
    [NaN, -Infinity],
  ])
  assert.equal(JSON.stringify({ x, y: gpt.tensor(3) }), '{"x":[[1,0.5],[null,null]],"y":3}')
  assert.deepEqual(gpt.tensor(JSON.parse(JSON.stringify(gpt.ones([2, 2])))).toArray(), [
    [1, 1],
    [1, 1],
  ])
})

test('a layer whose parameter is redefined writes to no other tensor', () => {
  const others = Array.from({ length: 100 }, () => gpt.zeros([64]))
  const forged = { byteOffset: others[50].byteOffset, size: 64, shape: [64], data: new Float32Array(64) }
  for (const Class of [gpt.Embedding, gpt.Linear, gpt.Conv1D].map(untyped)) {
    const layer = new Class(2, 2)
    Object.defineProperty(layer, 'weight', { get: () => forged })
    const use = () => layer.forward(Class === gpt.Embedding ? [0] : gpt.ones([1, 2]))
    assertRefuses(use, 'TYPE', `${Class.name}.forward: weight should be a Tensor, got an object`)
  }
  assert.ok(others.every(({ data }) => data.every((value) => value === 0)))
})
