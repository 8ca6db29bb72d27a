// Making, joining, reshaping and choosing; softmax, logSoftmax and functions of elements.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertClose,
  assertNear,
  assertSame,
  golden,
  gradientOf,
  loadForTest,
  unpack,
  usedMemory,
  untyped,
} from './support.js'

const { cases } = golden('operations')
const { ranges, eyes } = golden('draws')
const gpt = await loadForTest()

/** What is no method of the first input, or takes its arguments in another way. @type {Record<string, (inputs: Tensor[], args: any[], options: any) => Tensor>} */
const CALLS = {
  cat: (inputs, _, options) => gpt.cat(inputs, options),
  stack: (inputs, _, options) => gpt.stack(inputs, options),
  where: ([x, y]) => gpt.where(x.gt(y), x, y),
  maskedFill: ([x, mask]) => x.maskedFill(mask.gt(0), -Infinity).add(mask.sum().mul(0)),
  maximum: ([x, y]) => gpt.maximum(x, y),
  minimum: ([x, y]) => gpt.minimum(x, y),
  linear: ([x, weight, bias]) => gpt.linear(x, weight, bias),
  layerNorm: ([x, weight, bias], _, { shape, eps }) => gpt.layerNorm(x, shape, weight, bias, { eps }),
  'layerNorm of a bias': ([x, bias], _, { shape }) => gpt.layerNorm(x, shape, null, bias),
  rmsNorm: ([x, weight], _, { shape, eps }) => gpt.rmsNorm(x, shape, weight, { eps }),
  embedding: ([weight], [indices]) => gpt.embedding(indices, weight),
  scaledDotProductAttention: ([q, k, v], _, options) => gpt.scaledDotProductAttention(q, k, v, options),
  'masked attention': ([q, k, v, attnMask]) => gpt.scaledDotProductAttention(q, k, v, { attnMask }),
  crossEntropy: ([x], [targets], options) => gpt.crossEntropy(x, targets, options),
  mse: ([x, y], _, options) => gpt.mse(x, y, options),
}

/** These have PyTorch’s bits: they round once, or not at all; cumsum adds in the same order. */
const EXACT = new Set(
  `add sub mul div neg abs sqrt clone relu clamp max min topk cumsum gather indexSelect cat stack chunk split unsqueeze
  squeeze flatten view reshape expand permute transpose at slice tril triu where maximum minimum eq ne lt le gt ge`.split(
    /\s+/,
  ),
)
/** How far outputs, and gradients, may be from PyTorch’s; of the others 1e-6. @type {Record<string, [number, number]>} */
const TOLERANCES = {
  div: [0, 5e-6],
  matmul: [2e-6, 2e-6],
  linear: [1e-5, 2e-5],
  layerNorm: [1e-5, 2e-5],
  'layerNorm of a bias': [1e-5, 2e-5],
  rmsNorm: [1e-5, 2e-5],
  scaledDotProductAttention: [1e-5, 2e-5],
  'masked attention': [1e-5, 2e-5],
  crossEntropy: [1e-6, 2e-5],
}

for (const name of new Set(cases.map((/** @type {any} */ one) => one.name))) {
  test(`${name} and its gradients are PyTorch’s, and nothing is left behind`, () => {
    const found = cases.filter((/** @type {any} */ one) => one.name === name)
    const before = usedMemory(gpt)
    for (const golden of found) gpt.scope(() => check(golden))
    assert.equal(usedMemory(gpt), before)
    // Without a scope, too; but the collector frees the condition that the call here makes.
    if (!/^(where|maskedFill)$/.test(name)) assertLeavesNothing(found.at(-1))
  })
}

/** @param {any} golden a case of tests/golden/operations.py */
function prepare({ name, inputs: given, args, options }) {
  gpt.manualSeed(1)
  /** @type {Tensor[]} */
  const inputs = given.map((/** @type {any} */ one) =>
    gpt.parameter(Array.isArray(one) ? gpt.randn(one) : gpt.tensor(unpack(one), one.shape)),
  )
  const rest = args.map((/** @type {unknown} */ one) => one ?? undefined)
  if (Object.keys(options).length > 0) rest.push(options)
  /** @param {Tensor[]} inputs @returns {any} */
  const call = (inputs) =>
    CALLS[name]?.(inputs, args, options) ?? untyped(inputs[0])[name](...inputs.slice(1), ...rest)
  return { inputs, rest, call }
}

/** @param {any} result @returns {Tensor[]} */
const tensorsOf = (result) => (result instanceof gpt.Tensor ? [result] : Object.values(result))

/** @param {any} golden */
function assertLeavesNothing(golden) {
  const { inputs, call } = prepare(golden)
  const plain = inputs.map((x) => x.detach())
  const before = usedMemory(gpt)
  for (const tensor of tensorsOf(call(plain))) tensor.dispose()
  assert.equal(usedMemory(gpt), before, 'without a gradient')
  const found = tensorsOf(call(inputs))
  if (found[0].requiresGrad) {
    const loss = found[0].sum()
    loss.backward()
    loss.dispose()
  }
  for (const tensor of [...found, ...inputs.flatMap(({ grad }) => grad ?? [])]) tensor.dispose()
  assert.equal(usedMemory(gpt), before, 'with a gradient')
  for (const tensor of [...plain, ...inputs]) tensor.dispose()
}

/** The functions that `check` has compared with the methods of the same name. */
const functions = new Set(['dispose'])

test('every function that is a method, too, was compared with it', () => {
  const x = gpt.parameter(gpt.tensor([3, 5, 1]))
  for (const name of ['argmax', 'argmin']) {
    for (const options of [[], [{ dim: 0, keepdim: true }]]) {
      const [found, expected] = [gpt, x].map((by) =>
        valuesOf(untyped(by)[name](...(by === x ? [] : [x]), ...options)),
      )
      assert.deepEqual(found, expected)
    }
  }
  assert.deepEqual([gpt.detach(x).byteOffset, gpt.detach(x).requiresGrad], [x.byteOffset, false])
  for (const name of ['argmax', 'argmin', 'detach']) functions.add(name)
  const both = Object.keys(gpt).filter((name) => name in gpt.Tensor.prototype)
  assert.deepEqual(
    both.filter((name) => !functions.has(name)),
    [],
  )
})

/** @param {any} result a tensor, several of them, or a number @returns {unknown} */
function valuesOf(result) {
  // Plain arrays: in typed ones the sign bit of a NaN counts, which WebAssembly leaves open.
  if (result instanceof gpt.Tensor) return [result.shape, [...result.data]]
  return Array.isArray(result) || typeof result === 'object' ? Object.values(result).map(valuesOf) : result
}

/** @param {any} golden a case of tests/golden/operations.py */
function check(golden) {
  const { name, inputs: given, args, options, outs, indices, grads } = golden
  const { inputs, rest, call } = prepare(golden)
  const result = call(inputs)
  /** @type {Tensor[]} */
  const found = result.values instanceof gpt.Tensor ? [result.values] : [result].flat()
  const text = JSON.stringify({ inputs: inputs.map(({ shape }) => shape), args, options })
  const [forward, backward] = TOLERANCES[name] ?? [1e-6, 1e-6]
  assert.equal(found.length, outs.length, text)
  // Among given values are equal ones: max and topk may take either.
  const isDrawn = given.every(Array.isArray)
  const isSame = EXACT.has(name) && (isDrawn || !/^(max|min|topk)/.test(name))
  found.forEach((y, i) =>
    isSame ? assertSame(y, outs[i]) : assertClose(y, outs[i], EXACT.has(name) ? 0 : forward),
  )
  if (name === 'topk' && !isDrawn) return
  if (indices) {
    assertSame(result.indices, indices)
    assert.equal(result.indices.requiresGrad, false)
    if (name !== 'topk') assertSame(untyped(inputs[0])[`arg${name}`](...rest), indices)
  }
  if (CALLS[name] === undefined && name in gpt) {
    assert.deepEqual(valuesOf(untyped(gpt)[name](...inputs, ...rest)), valuesOf(result), text)
    functions.add(name)
  }
  if (name === 'maskedFill') {
    const [x, mask] = inputs
    assert.deepEqual(valuesOf(gpt.maskedFill(x, mask, 2)), valuesOf(x.maskedFill(mask, 2)))
    functions.add(name)
  }
  assert.equal(found[0].requiresGrad, grads !== undefined, text)
  if (!grads) return
  const plain = [call(inputs.map((x) => x.detach()))].flat()[0]
  assert.deepEqual(valuesOf(plain.values ?? plain), valuesOf(found[0]), `without a gradient, ${text}`)
  const flat = gpt.cat(found.map((y) => y.flatten()))
  flat.backward(gpt.randn(flat.shape))
  inputs.forEach((x, i) => {
    if (Array.isArray(given[i])) assertNear(gradientOf(x), grads[i], backward, `gradient ${i} for ${text}`)
    else assertClose(gradientOf(x), grads[i], 2 * backward)
  })
}

test('arange is PyTorch’s, of fractions within a rounding', () => {
  for (const { args, range } of ranges) {
    const [first, second, step] = args
    const found = second === undefined ? gpt.arange(first) : gpt.arange(first, second, step)
    if (args.every(Number.isInteger)) assertSame(found, range)
    else assertClose(found, range, 1.2e-7)
  }
  assert.equal(gpt.arange(2, 4).size, 2)
  assert.equal(gpt.arange(2 ** 20).data[2 ** 20 - 1], 2 ** 20 - 1)
  assert.equal(gpt.arange(0, 1e-300, 1).size, 1)
})

test('eye is PyTorch’s', () => {
  for (const { args, eye } of eyes) {
    const [n, m] = args
    assertSame(gpt.eye(n, m), eye)
  }
})

test('full has one value, also NaN, an infinity and -0; zerosLike and onesLike a tensor’s shape', () => {
  for (const value of [0, -0, 1.5, NaN, Infinity, -Infinity, 1e-40, 0.1]) {
    for (const shape of [[], [0], [2, 3], [1, 17]]) {
      const tensor = gpt.full(shape, value)
      assert.deepEqual(tensor.shape, shape)
      for (const element of tensor.data) assert.ok(Object.is(element, Math.fround(value)), `${value}`)
    }
  }
  const x = gpt.parameter(gpt.full([2, 3], NaN))
  const [zeros, ones] = [gpt.zerosLike(x), gpt.onesLike(x)]
  assert.deepEqual(zeros.toArray(), gpt.zeros([2, 3]).toArray())
  assert.deepEqual(ones.toArray(), gpt.ones([2, 3]).toArray())
  assert.ok(!zeros.requiresGrad && !ones.requiresGrad)
  assert.deepEqual(gpt.onesLike(gpt.zeros([0, 2])).shape, [0, 2])
})

test('what moves elements keeps NaN, infinities, denormals and the signs of zeros', () => {
  const values = [0, -0, NaN, Infinity, -Infinity, 1e-40]
  const x = gpt.tensor(values)
  const column = x.unsqueeze(1)
  const same = (/** @type {Tensor} */ tensor, /** @type {(i: number) => number} */ index) =>
    tensor.data.forEach((value, i) =>
      assert.ok(Object.is(value, Math.fround(values[index(i)])), `${i}: ${value}`),
    )
  same(gpt.cat([x, x]), (i) => i % 6)
  same(gpt.stack([x, x], { dim: 1 }), (i) => i >> 1)
  same(x.expand([3, 6]), (i) => i % 6)
  same(column.expand([6, 19]), (i) => Math.floor(i / 19))
  same(column.expand([2, 6, 1]), (i) => i % 6)
  same(gpt.cat(x.chunk(4)), (i) => i)
})

test('unsqueeze, squeeze, flatten and view share the memory; the others copy', () => {
  const x = gpt.zeros([2, 1])
  for (const y of [x.unsqueeze(0), x.squeeze(), x.flatten(), x.view([1, 2])]) {
    y.data[0] += 1
    assert.equal(y.data[0], x.data[0])
  }
  const copies = [
    ...[
      gpt.cat([x]),
      gpt.stack([x]),
      x.expand([2, 1]),
      x.chunk(1)[0],
      x.clone(),
      x.slice(),
      x.slice(0, 1),
      x.at(0),
    ],
    ...[x.transpose(0, 1), x.transpose(0, 0), x.permute([0, 1]), x.permute([1, 0])],
  ]
  for (const y of copies) {
    y.data[0] += 1
    assert.notEqual(y.data[0], x.data[0])
  }
})

test('a tensor that is joined with itself gets both gradients', () => {
  const x = gpt.parameter(gpt.tensor([1, 2]))
  gpt.cat([x, x.mul(3), x]).backward(gpt.tensor([1, 2, 3, 4, 5, 6]))
  assert.deepEqual(x.grad?.toArray(), [1 + 9 + 5, 2 + 12 + 6])
  const fixed = gpt.ones([2])
  gpt.stack([fixed, x]).sum().backward()
  assert.deepEqual(x.grad?.toArray(), [16, 21])
  assert.equal(fixed.grad, null)
})

test('comparisons with a number are those with a tensor of it, and have no gradient', () => {
  const x = gpt.tensor([NaN, Infinity, -Infinity, 0, -0, 1e-40, 1])
  for (const name of /** @type {const} */ (['eq', 'ne', 'lt', 'le', 'gt', 'ge'])) {
    for (const value of x.data.slice())
      assert.deepEqual(x[name](value).toArray(), x[name](gpt.tensor(value)).toArray(), `${name} ${value}`)
  }
  assert.deepEqual(gpt.tensor([0.1]).eq(0.1).toArray(), [1])
  assert.equal(gpt.parameter(gpt.ones([2])).gt(0).requiresGrad, false)
})

test('clamp has max where min is larger, and is NaN where a bound is', () => {
  assert.deepEqual(gpt.tensor([-1, 1, 3]).clamp({ min: 2, max: 0 }).toArray(), [0, 0, 0])
  assert.deepEqual(gpt.tensor([-1, 1]).clamp({ min: NaN }).toArray(), [NaN, NaN])
})

test('where and maskedFill take numbers, and what holds is not 0: NaN, too', () => {
  const condition = gpt.tensor([0, -0, 1, NaN, -2])
  assert.deepEqual(gpt.where(condition, 1, -1).toArray(), [-1, -1, 1, 1, 1])
  const x = gpt.parameter(gpt.tensor([1, NaN, 3, Infinity, 5]))
  const y = x.maskedFill(condition, -Infinity)
  assert.deepEqual(y.toArray(), [1, NaN, -Infinity, -Infinity, -Infinity])
  y.backward(gpt.ones([5]))
  assert.deepEqual(x.grad?.toArray(), [1, 1, 0, 0, 0])
  const scale = gpt.parameter(gpt.tensor(2))
  gpt.where(condition, scale, 0).sum().backward()
  assert.equal(scale.grad?.item(), 3)
  assert.deepEqual(gpt.where(gpt.ones([2, 1]), gpt.ones([3]), gpt.ones([4, 1, 1])).shape, [4, 2, 3])
  assert.deepEqual(gpt.ones([2]).maskedFill(gpt.ones([3, 1]), 0).shape, [3, 2])
})

const [inf, nan] = [Infinity, NaN]
/** [x, y, options, torch.allclose(x, y, **options), torch.equal(x, y)], as PyTorch 1.13 computes them. */
const EQUALITY = /** @type {[any, any, any, boolean, boolean][]} */ ([
  [[1, 2], [1, 2], {}, true, true],
  [[1, 2], [1, 2.00001], {}, true, false],
  [[1, 2], [1, 2.0001], {}, false, false],
  [[nan], [nan], {}, false, false],
  [[nan], [nan], { equalNan: true }, true, false],
  [[nan], [1], { equalNan: true }, false, false],
  [[inf], [inf], {}, true, true],
  [[inf], [-inf], {}, false, false],
  [[inf], [1], { rtol: 1e30 }, false, false],
  [[1], [inf], { rtol: 1 }, false, false],
  [[0], [-0], { rtol: 0, atol: 0 }, true, true],
  [[1], [1], { rtol: 0, atol: 0 }, true, true],
  [[0], [1e-8], {}, true, false],
  [[1e-8], [0], {}, true, false],
  [[2e-8], [0], {}, false, false],
  [[1, 1.1], [1], { atol: 0.2 }, true, false],
  [[[1], [2]], [[1, 2]], {}, false, false],
  [[], [], {}, true, true],
  [[1], [1.1], { rtol: 0.1, atol: 0 }, true, false],
  [[1.1], [1], { rtol: 0.1, atol: 0 }, false, false],
  [[1.00001], [1], {}, false, false],
  [[1.000009], [1], {}, true, false],
  [[3e38], [-3e38], { rtol: 2 }, false, false],
])

test('equal and allclose are PyTorch’s', () => {
  for (const [x, y, options, isClose, isEqual] of EQUALITY) {
    const [a, b] = [gpt.tensor(x), gpt.tensor(y)]
    assert.equal(gpt.allclose(a, b, options), isClose, `allclose(${a}, ${b}, ${JSON.stringify(options)})`)
    assert.equal(gpt.equal(a, b), isEqual, `equal(${a}, ${b})`)
  }
  assert.equal(gpt.equal(gpt.zeros([2, 3]), gpt.zeros([3, 2])), false)
  assert.equal(gpt.equal(gpt.zeros([0, 3]), gpt.zeros([0, 5])), false)
  const x = gpt.parameter(gpt.ones([2]))
  assert.ok(gpt.allclose(x, x) && gpt.equal(x, x))
})
