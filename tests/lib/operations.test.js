// Making, joining, reshaping and choosing; softmax, logSoftmax and functions of elements.

/** @import { Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertClose,
  assertNear,
  assertRefuses,
  assertSame,
  golden,
  gradientOf,
  loadForTest,
  unpack,
  untyped,
} from './support.js'

const { ranges, eyes, calls, special, comparisons, pairs, elements } = golden('operations')
const gpt = await loadForTest()

/** @type {Record<string, (inputs: Tensor[], options: any) => Tensor>} by the names of the golden cases */
const CALLS = {
  cat: (tensors, { dim }) => gpt.cat(tensors, { dim }),
  stack: (tensors, { dim }) => gpt.stack(tensors, { dim }),
  chunk: ([x], { n, dim, i, pieces }) => {
    const found = x.chunk(n, { dim })
    assert.equal(found.length, pieces)
    return found[i]
  },
  unsqueeze: ([x], { dim }) => x.unsqueeze(dim),
  squeeze: ([x], { dim }) => x.squeeze(dim ?? undefined),
  flatten: ([x], { start, end }) => x.flatten(start ?? undefined, end ?? undefined),
  view: ([x], { shape }) => x.view(shape),
  expand: ([x], { shape }) => x.expand(shape),
  softmax: ([x], { dim }) => x.softmax({ dim }),
  logSoftmax: ([x], { dim }) => x.logSoftmax({ dim }),
  where: ([x, y]) => gpt.where(x.gt(y), x, y),
  maskedFill: ([x, mask]) => x.maskedFill(mask.gt(0), -Infinity).add(mask.sum().mul(0)),
  tril: ([x], { diagonal }) => x.tril({ diagonal }),
  triu: ([x], { diagonal }) => x.triu({ diagonal }),
  reciprocal: ([x]) => x.reciprocal(),
  rsqrt: ([x]) => x.abs().add(0.5).rsqrt(),
  sin: ([x]) => x.sin(),
  cos: ([x]) => x.cos(),
  sigmoid: ([x]) => x.sigmoid(),
  silu: ([x]) => x.silu(),
  relu: ([x]) => x.relu(),
  gelu: ([x]) => x.gelu(),
  clamp: ([x]) => x.clamp({ min: -0.5, max: 0.25 }),
  clampMin: ([x]) => x.clamp({ min: -0.5 }),
  clampMax: ([x]) => x.clamp({ max: 0.25 }),
}
/** @type {readonly ('eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge')[]} */
const COMPARISONS = ['eq', 'ne', 'lt', 'le', 'gt', 'ge']

for (const operation of Object.keys(CALLS)) {
  test(`${operation} and its gradient are PyTorch’s`, () => {
    const cases = calls.filter((/** @type {any} */ one) => one.operation === operation)
    assert.ok(cases.length > 0)
    for (const { shapes, options, out, grads, wide } of cases) {
      gpt.manualSeed(1)
      const inputs = shapes.map((/** @type {number[]} */ shape) => gpt.parameter(gpt.randn(shape)))
      const y = CALLS[operation](inputs, options)
      if (wide) assertClose(y, out, 1e-6)
      else assertSame(y, out)
      y.backward(gpt.randn(y.shape))
      inputs.forEach((/** @type {Tensor} */ x, /** @type {number} */ i) => {
        assertNear(gradientOf(x), grads[i], 1e-6, `gradient ${i} for ${JSON.stringify(options)}`)
      })
    }
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
  for (const y of [gpt.cat([x]), gpt.stack([x]), x.expand([2, 1]), x.chunk(1)[0]]) {
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

test('logSoftmax of NaN, infinities and huge values is PyTorch’s', () => {
  assertClose(gpt.tensor(unpack(special.x), special.x.shape).logSoftmax(), special.logSoftmax, 1e-6)
})

test('comparisons are PyTorch’s, as 0 and 1, of NaN, infinities and zeros of both signs, too', () => {
  const rounded = (/** @type {number[]} */ shape) => {
    const x = gpt.randn(shape)
    // To even, as PyTorch's round; no element lies half between two.
    x.data.set(x.data.map(Math.round))
    return x
  }
  for (const { a, b, ...expected } of comparisons) {
    gpt.manualSeed(1)
    const [x, y] = [rounded(a), rounded(b)]
    for (const name of COMPARISONS) assertSame(x[name](y), expected[name])
  }
  const x = gpt.tensor(unpack(elements.x).slice(0, 7))
  for (const name of COMPARISONS) {
    assertSame(x.unsqueeze(1)[name](x), pairs[name])
    x.data.slice().forEach((value, i) => {
      const column = unpack(pairs[name]).filter((_, at) => at % 7 === i)
      assert.deepEqual([...x[name](value).data], [...column], `${name} ${value}`)
    })
  }
  assert.deepEqual(gpt.tensor([0.1]).eq(0.1).toArray(), [1])
  assert.equal(gpt.parameter(gpt.ones([2])).gt(0).requiresGrad, false)
})

test('functions of NaN, infinities, zeros and denormals, and their gradients, are PyTorch’s', () => {
  for (const [name, { out, grad }] of Object.entries(elements.functions)) {
    const x = gpt.parameter(gpt.tensor(unpack(elements.x)))
    const y = name === 'rsqrt' ? x.rsqrt() : CALLS[name]([x], {})
    try {
      assertClose(y, out, 1e-6)
      y.backward(gpt.ones(y.shape))
      assertClose(gradientOf(x), grad, 2e-6)
    } catch (error) {
      throw new Error(name, { cause: error })
    }
  }
})

test('clamp has max where min is larger, and is NaN where a bound is', () => {
  assert.deepEqual(gpt.tensor([-1, 1, 3]).clamp({ min: 2, max: 0 }).toArray(), [0, 0, 0])
  assert.deepEqual(gpt.tensor([-1, 1]).clamp({ min: NaN }).toArray(), [NaN, NaN])
})

test('gelu of a tensor has the bits of the layer, in both forms', () => {
  const x = gpt.randn([3, 7])
  for (const approximate of /** @type {const} */ (['tanh', 'none'])) {
    const [y, expected] = [x.gelu({ approximate }), new gpt.GELU({ approximate }).forward(x)]
    assert.deepEqual(y.data, expected.data)
  }
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

test('softmax of a tensor has the bits of the layer', () => {
  const x = gpt.randn([3, 5, 7])
  for (const dim of [0, 1, 2, -1]) {
    const [y, expected] = [x.softmax({ dim }), new gpt.Softmax({ dim }).forward(x)]
    assert.deepEqual(y.data, expected.data)
  }
})

test('attention typed by hand has the numbers of the layers', () => {
  const [tokens, width] = [5, 4]
  const attention = new gpt.Attention({ embDim: width, nHeads: 1, contextLength: tokens }).eval()
  const x = gpt.randn([tokens, width])
  const [q, k, v] = attention.cAttn.forward(x).chunk(3, { dim: -1 })
  const mask = gpt.ones([tokens, tokens]).triu({ diagonal: 1 })
  const scores = q.matmul(k.transpose(0, 1)).div(Math.sqrt(width)).maskedFill(mask, -Infinity)
  const y = attention.cProj.forward(scores.softmax({ dim: -1 }).matmul(v))
  const expected = attention.forward(x).data
  y.data.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= 1e-5, `${i}`))
})

test('making tensors names the argument that is wrong', () => {
  const wrong = untyped(gpt)
  assertRefuses(() => wrong.full(2, 3), 'TYPE', /^full: shape should be an array of sizes, got 2$/)
  assertRefuses(() => wrong.full([2]), 'TYPE', /^full: value should be a number, got undefined$/)
  assertRefuses(() => wrong.full([2], [3]), 'TYPE', /^full: value should be a number, got \[3\]$/)
  assertRefuses(() => wrong.zerosLike([2]), 'TYPE', /^zerosLike: x should be a Tensor, got \[2\]$/)
  assertRefuses(() => wrong.onesLike(), 'TYPE', /^onesLike: x should be a Tensor, got undefined$/)
  assertRefuses(() => wrong.arange(), 'TYPE', /^arange: end should be a finite number, got undefined$/)
  assertRefuses(() => wrong.arange('4'), 'TYPE', /^arange: end should be a finite number, got "4"$/)
  assertRefuses(() => wrong.arange(NaN, 4), 'VALUE', /^arange: start should be a finite number, got NaN$/)
  assertRefuses(() => gpt.arange(0, Infinity), 'VALUE', /^arange: end should be a finite number, got Inf/)
  assertRefuses(
    () => wrong.arange(0, undefined, 2),
    'TYPE',
    /^arange: end should be a finite number, got undef/,
  )
  assertRefuses(
    () => gpt.arange(0, 4, 0),
    'VALUE',
    /^arange: step should be a finite number other than 0, got 0$/,
  )
  assertRefuses(() => gpt.arange(4, 2), 'VALUE', /^arange: end should be at least 4 for a step of 1, got 2$/)
  assertRefuses(() => gpt.arange(-1), 'VALUE', /^arange: end should be at least 0 for a step of 1, got -1$/)
  assertRefuses(
    () => gpt.arange(1, 2, -1),
    'VALUE',
    /^arange: end should be at most 1 for a step of -1, got 2$/,
  )
  assertRefuses(() => gpt.arange(2 ** 40), 'MEMORY', /^arange: needs 4398046511104 bytes/)
  assertRefuses(() => wrong.eye(1.5), 'VALUE', /^eye: n should be a non-negative integer, got 1\.5$/)
  assertRefuses(() => wrong.eye(2, '2'), 'TYPE', /^eye: m should be a non-negative integer, got "2"$/)
  assertRefuses(() => gpt.eye(2 ** 20), 'MEMORY', /^eye: needs 4398046511104 bytes/)
})

test('joining tensors names the one that does not fit', () => {
  const [wrong, x] = [untyped(gpt), gpt.ones([2, 3])]
  const disposed = gpt.ones([2, 3])
  disposed.dispose()
  for (const name of ['cat', 'stack']) {
    const refuses = (
      /** @type {any[]} */ args,
      /** @type {import('gpt-layers').ErrorCode} */ code,
      /** @type {string} */ text,
    ) => assertRefuses(() => wrong[name](...args), code, new RegExp(`^${name}: ${text}$`))
    refuses([x], 'TYPE', 'tensors should be an array of tensors, got a Tensor')
    refuses([[]], 'VALUE', 'tensors should have 1 tensor or more, got \\[\\]')
    refuses([[x, 1]], 'TYPE', 'tensors\\[1\\] should be a Tensor, got 1')
    refuses([[x, disposed]], 'DISPOSED', 'tensors\\[1\\] should be a live Tensor, got one that was disposed')
  }
  assertRefuses(
    () => gpt.cat([x, gpt.ones([])]),
    'SHAPE',
    /^cat: tensors\[1\] should have 1 axis or more, got shape \[\]$/,
  )
  assertRefuses(
    () => gpt.cat([x, gpt.ones([2, 4])]),
    'SHAPE',
    /^cat: tensors\[1\] should have shape \[2, 3\], got \[2, 4\]$/,
  )
  assertRefuses(
    () => gpt.cat([x, gpt.ones([3])], { dim: 1 }),
    'SHAPE',
    /^cat: tensors\[1\] should have shape \[2, 3\], got \[3\]$/,
  )
  assertRefuses(() => gpt.cat([x], { dim: 2 }), 'VALUE', /^cat: dim should be an axis from -2 to 1, got 2$/)
  assertRefuses(
    () => gpt.stack([x, gpt.ones([3])]),
    'SHAPE',
    /^stack: tensors\[1\] should have shape \[2, 3\], got \[3\]$/,
  )
  assertRefuses(
    () => gpt.stack([x], { dim: 3 }),
    'VALUE',
    /^stack: dim should be an axis from -3 to 2, got 3$/,
  )
})

test('choosing and functions of elements name what is wrong', () => {
  const [wrong, x] = [untyped(gpt), untyped(gpt.ones([2, 3]))]
  for (const name of COMPARISONS) {
    assertRefuses(
      () => x[name]('1'),
      'TYPE',
      new RegExp(`^${name}: other should be a Tensor or a number, got "1"$`),
    )
    assertRefuses(
      () => x[name](gpt.ones([2])),
      'SHAPE',
      new RegExp(`^${name}: other should broadcast with shape \\[2, 3\\], got shape \\[2\\]$`),
    )
  }
  assertRefuses(() => wrong.where(true, x, x), 'TYPE', /^where: condition should be a Tensor, got true$/)
  assertRefuses(() => wrong.where(x, x), 'TYPE', /^where: y should be a Tensor or a number, got undefined$/)
  assertRefuses(
    () => gpt.where(x, gpt.ones([2]), 0),
    'SHAPE',
    /^where: x should broadcast with shape \[2, 3\], got shape \[2\]$/,
  )
  assertRefuses(
    () => gpt.where(x, 0, gpt.ones([4])),
    'SHAPE',
    /^where: y should broadcast with shape \[2, 3\], got shape \[4\]$/,
  )
  assertRefuses(() => x.maskedFill([1]), 'TYPE', /^maskedFill: mask should be a Tensor, got \[1\]$/)
  assertRefuses(() => x.maskedFill(x), 'TYPE', /^maskedFill: value should be a number, got undefined$/)
  assertRefuses(
    () => x.maskedFill(gpt.ones([4]), 0),
    'SHAPE',
    /^maskedFill: mask should broadcast with shape \[2, 3\], got shape \[4\]$/,
  )
  for (const name of ['tril', 'triu']) {
    assertRefuses(
      () => untyped(gpt.ones([3]))[name](),
      'SHAPE',
      new RegExp(`^${name}: the tensor should have 2 axes or more, got shape \\[3\\]$`),
    )
    assertRefuses(
      () => x[name]({ diagonal: 0.5 }),
      'VALUE',
      new RegExp(`^${name}: diagonal should be an integer`),
    )
  }
  assertRefuses(() => x.clamp(), 'VALUE', /^clamp: options should have min, max or both, got neither$/)
  assertRefuses(() => x.clamp({ min: '0' }), 'TYPE', /^clamp: min should be a number, got "0"$/)
  assertRefuses(() => x.clamp({ max: null }), 'TYPE', /^clamp: max should be a number, got null$/)
  assertRefuses(
    () => x.gelu({ approximate: 'erf' }),
    'VALUE',
    /^gelu: approximate should be 'tanh' or 'none', got "erf"$/,
  )
  const disposed = untyped(gpt.ones([1, 1]))
  disposed.dispose()
  const args = { eq: [1], maskedFill: [x, 0], clamp: [{ min: 0 }] }
  const names = ['tril', 'triu', 'sin', 'cos', 'sigmoid', 'silu', 'relu', 'gelu', 'rsqrt', 'reciprocal']
  for (const [name, given] of [
    ...Object.entries(args),
    ...names.map((one) => /** @type {const} */ ([one, []])),
  ]) {
    assertRefuses(
      () => disposed[name](...given),
      'DISPOSED',
      new RegExp(`^${name}: the tensor should be live`),
    )
  }
})

test('shaping and softmax name what is wrong', () => {
  const x = untyped(gpt.ones([2, 1, 3]))
  assertRefuses(() => x.chunk(0), 'VALUE', /^chunk: n should be a positive integer, got 0$/)
  assertRefuses(() => x.chunk(2, { dim: 3 }), 'VALUE', /^chunk: dim should be an axis from -3 to 2, got 3$/)
  assertRefuses(() => gpt.ones([]).chunk(1), 'SHAPE', /^chunk: the tensor should have 1 axis or more/)
  assertRefuses(
    () => gpt.ones([0]).chunk(2 ** 16 + 1),
    'VALUE',
    /^chunk: n should be an integer from 1 to 65536 for an axis of size 0/,
  )
  assertRefuses(() => x.unsqueeze(), 'TYPE', /^unsqueeze: dim should be an axis from -4 to 3, got undefined$/)
  assertRefuses(() => x.unsqueeze(4), 'VALUE', /^unsqueeze: dim should be an axis from -4 to 3, got 4$/)
  assertRefuses(() => x.squeeze(3), 'VALUE', /^squeeze: dim should be an axis from -3 to 2, got 3$/)
  assertRefuses(
    () => x.flatten(2, 1),
    'VALUE',
    /^flatten: endDim should be startDim \(2\) or an axis after it, got 1$/,
  )
  assertRefuses(() => x.flatten(3), 'VALUE', /^flatten: startDim should be an axis from -3 to 2, got 3$/)
  assertRefuses(() => x.view([4]), 'SHAPE', /^view: shape should hold 6 elements, got \[4\]$/)
  assertRefuses(() => x.expand(2), 'TYPE', /^expand: shape should be an array of sizes, got 2$/)
  assertRefuses(
    () => x.expand([2, 2, 4]),
    'SHAPE',
    /^expand: shape should be one that shape \[2, 1, 3\] broadcasts to, got \[2, 2, 4\]$/,
  )
  assertRefuses(
    () => x.expand([6]),
    'SHAPE',
    /^expand: shape should be one that shape \[2, 1, 3\] broadcasts to, got \[6\]$/,
  )
  assertRefuses(
    () => x.expand([-1, 2, 1, 3]),
    'VALUE',
    /^expand: shape\[0\] should be a non-negative integer, got -1$/,
  )
  assertRefuses(() => x.expand([2 ** 30, 2, 1, 3]), 'MEMORY', /^expand: needs/)
  assertRefuses(
    () => gpt.ones(Array(64).fill(1)).unsqueeze(0),
    'VALUE',
    /^unsqueeze: shape should have at most 64 elements, got 65$/,
  )
  for (const name of ['softmax', 'logSoftmax']) {
    assertRefuses(
      () => x[name]({ dim: 3 }),
      'VALUE',
      new RegExp(`^${name}: dim should be an axis from -3 to 2, got 3$`),
    )
  }
  const disposed = gpt.ones([1])
  disposed.dispose()
  for (const call of [
    () => disposed.chunk(1),
    () => disposed.unsqueeze(0),
    () => disposed.squeeze(),
    () => disposed.flatten(),
    () => disposed.view([1]),
    () => disposed.expand([2]),
    () => disposed.softmax(),
    () => disposed.logSoftmax(),
  ]) {
    assertRefuses(call, 'DISPOSED', /the tensor should be live, got one that was disposed$/)
  }
})

/** The arguments of the functions that need more than a tensor, after it. @type {Record<string, any[]>} */
const MORE = {
  ...Object.fromEntries([...COMPARISONS, 'add', 'sub', 'mul', 'div'].map((name) => [name, [0.5]])),
  chunk: [2],
  clamp: [{ min: -0.5, max: 0.5 }],
  cumsum: [{ dim: 1 }],
  gather: [{ dim: 1, index: [[1], [0]] }],
  indexSelect: [{ dim: 1, index: [1, 1] }],
  maskedFill: [
    gpt.tensor([
      [1, 0],
      [0, 1],
    ]),
    7,
  ],
  matmul: [
    gpt.tensor([
      [1, 2],
      [3, 4],
    ]),
  ],
  permute: [[1, 0]],
  pow: [2],
  reshape: [[4]],
  split: [1, { dim: 1 }],
  topk: [1],
  transpose: [0, 1],
  unsqueeze: [0],
}
/** Options of the functions that work without them. @type {Record<string, any>} */
const OPTIONS = {
  ...Object.fromEntries(
    ['max', 'min', 'argmax', 'argmin', 'mean', 'std', 'sum', 'var'].map((name) => [
      name,
      { dim: 0, keepdim: true },
    ]),
  ),
  ...Object.fromEntries(['softmax', 'logSoftmax'].map((name) => [name, { dim: 0 }])),
  gelu: { approximate: 'none' },
  tril: { diagonal: -1 },
  triu: { diagonal: 1 },
}

/** The functions of torch and torch.nn.functional that are methods here. */
const FUNCTIONS =
  `abs add argmax argmin chunk clamp clone cos cumsum detach div eq exp flatten gather ge gelu gt
  indexSelect le log logSoftmax logsumexp lt maskedFill matmul max mean min mul ne neg norm permute pow reciprocal
  relu reshape rsqrt sigmoid silu sin softmax split sqrt squeeze std sub sum tanh topk transpose tril triu unsqueeze var`.split(
    /\s+/,
  )

/** @param {any} result a tensor, several of them, or a number @returns {unknown} */
const valuesOf = (result) => {
  if (result instanceof gpt.Tensor) return [result.shape, [...result.data]]
  return Array.isArray(result) || typeof result === 'object' ? Object.values(result).map(valuesOf) : result
}

test('each function of one tensor gives what the method gives, and its gradient', () => {
  const wrong = untyped(gpt)
  const both = Object.keys(gpt).filter((name) => name in gpt.Tensor.prototype && name !== 'dispose')
  assert.deepEqual(both.sort(), [...FUNCTIONS].sort())
  for (const name of FUNCTIONS) {
    for (const args of [MORE[name] ?? [], ...(name in OPTIONS ? [[OPTIONS[name]]] : [])]) {
      const [x, y] = [0, 1].map(() =>
        untyped(
          gpt.parameter(
            gpt.tensor([
              [0.25, 2],
              [3, 0.75],
            ]),
          ),
        ),
      )
      const results = [wrong[name](x, ...args), y[name](...args)]
      assert.deepEqual(valuesOf(results[0]), valuesOf(results[1]), name)
      const [first, second] = results.map((one) => [one].flat()[0].values ?? [one].flat()[0])
      assert.equal(first.requiresGrad, second.requiresGrad, name)
      if (!first.requiresGrad) continue
      first.sum().backward()
      second.sum().backward()
      assert.deepEqual(x.grad.toArray(), y.grad.toArray(), name)
    }
  }
})

test('each function of one tensor names itself and its tensor', () => {
  const wrong = untyped(gpt)
  const gone = gpt.ones([2])
  gone.dispose()
  for (const name of FUNCTIONS) {
    assertRefuses(() => wrong[name](), 'TYPE', RegExp(`^${name}: x should be a Tensor, got undefined$`))
    assertRefuses(
      () => wrong[name]([1, 2]),
      'TYPE',
      RegExp(`^${name}: x should be a Tensor, got \\[1, 2\\]$`),
    )
    assertRefuses(() => wrong[name](gone), 'DISPOSED', RegExp(`^${name}: x should be a live Tensor`))
  }
  const x = gpt.ones([2])
  assertRefuses(() => wrong.softmax(x, { dim: 2 }), 'VALUE', /^softmax: dim should be an axis/)
  assertRefuses(() => wrong.add(x, 'a'), 'TYPE', /^add: other should be a Tensor or a number, got "a"$/)
  assertRefuses(() => wrong.exp(x, x), 'TYPE', /^exp: takes at most 1 argument, got 2: a Tensor, a Tensor$/)
  assertRefuses(() => wrong.mean(x, {}, 1), 'TYPE', /^mean: takes at most 2 arguments, got 3/)
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

test('equal and allclose name what is wrong', () => {
  const wrong = untyped(gpt)
  const x = gpt.ones([2])
  assertRefuses(() => wrong.equal(x, [1, 1]), 'TYPE', /^equal: y should be a Tensor, got \[1, 1\]$/)
  assertRefuses(() => wrong.allclose([1], x), 'TYPE', /^allclose: x should be a Tensor/)
  assertRefuses(
    () => gpt.allclose(x, gpt.ones([3])),
    'SHAPE',
    /^allclose: y should broadcast with shape \[2\]/,
  )
  assertRefuses(
    () => gpt.allclose(x, x, { rtol: -1 }),
    'VALUE',
    /^allclose: rtol should be a finite number >= 0/,
  )
  assertRefuses(() => wrong.allclose(x, x, { atol: '1' }), 'TYPE', /^allclose: atol should/)
  assertRefuses(
    () => wrong.allclose(x, x, { equalNan: 1 }),
    'TYPE',
    /^allclose: equalNan should be true or false/,
  )
})
