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
