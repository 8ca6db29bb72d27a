// What test frameworks find equal: never two different tensors, layers or optimizers. What cannot be cloned.

import { JEST_MATCHERS_OBJECT, JestChaiExpect, chai } from '@vitest/expect'
import assert from 'node:assert'
import { test } from 'node:test'
import { inspect, isDeepStrictEqual } from 'node:util'
import { LAYERS } from '../layers.js'
import { assertRefuses, loadForTest, usedMemory } from './support.js'

const gpt = await loadForTest()
chai.use(JestChaiExpect)
/** @type {any} */
const vitest = chai.expect
// Both would keep their matchers in one global object. Vitest's are in chai by now, so Jest gets its own.
Reflect.set(globalThis, JEST_MATCHERS_OBJECT, undefined)
Reflect.deleteProperty(globalThis, JEST_MATCHERS_OBJECT)
/** @type {any} */
const jest = (await import('expect')).expect

/** A mock that was called with one argument, for both frameworks. @param {unknown} argument */
const calledWith = (argument) =>
  Object.assign(() => {}, {
    _isMockFunction: true,
    getMockName: () => 'mock',
    mock: { calls: [[argument]], results: [{ type: 'return', value: undefined }] },
  })

/**
 * How each framework asserts that two values are equal, and not equal.
 *
 * @type {Record<string, ((a: any, b: any) => void)[]>}
 */
const FRAMEWORKS = {
  'node:assert deepStrictEqual': [assert.deepStrictEqual, assert.notDeepStrictEqual],
  'node:assert deepEqual': [assert.deepEqual, assert.notDeepEqual],
  'node:util isDeepStrictEqual': [
    (a, b) => assert.ok(isDeepStrictEqual(a, b)),
    (a, b) => assert.ok(!isDeepStrictEqual(a, b)),
  ],
  'chai eql': [(a, b) => vitest(a).to.eql(b), (a, b) => vitest(a).to.not.eql(b)],
}
const same = (/** @type {unknown} */ x) => x
const inArray = (/** @type {unknown} */ x) => [x]
for (const [name, expect] of Object.entries({ jest, vitest })) {
  for (const [matcher, actual, expected] of /** @type {const} */ ([
    ['toEqual', same, same],
    ['toStrictEqual', same, same],
    ['toMatchObject', inArray, inArray],
    ['toHaveBeenCalledWith', calledWith, same],
  ]))
    FRAMEWORKS[`${name} ${matcher}`] = [
      (a, b) => expect(actual(a))[matcher](expected(b)),
      (a, b) => expect(actual(a)).not[matcher](expected(b)),
    ]
}

/**
 * @param {() => void} check
 * @returns {boolean} whether it passes. To show a tensor without values, Jest reads them: an error, too
 */
function passes(check) {
  try {
    check()
    return true
  } catch (error) {
    const { name, code, matcherResult } = /** @type {any} */ (error)
    assert.ok(name === 'AssertionError' || matcherResult || code === 'DISPOSED', inspect(error))
    return false
  }
}

/**
 * Asserts what every framework finds of two values.
 *
 * @param {any} a
 * @param {any} b
 * @param {boolean} expected whether they are equal
 * @param {string} what
 */
function assertCompared(a, b, expected, what) {
  for (const [framework, [equal, notEqual]] of Object.entries(FRAMEWORKS)) {
    assert.equal(
      passes(() => equal(a, b)),
      expected,
      `${framework} of ${what}`,
    )
    assert.equal(
      passes(() => notEqual(a, b)),
      !expected,
      `not ${framework} of ${what}`,
    )
  }
}

const { tensor, zeros, ones } = gpt
/** print leaves out elements of more than 1000 */
const large = gpt.randn([26, 40])
/** @param {number} i @param {number} value @returns {any} `large` with one other element */
const changed = (i, value) => {
  const copy = large.clone()
  copy.data[i] = value
  return copy
}

/** @type {Record<string, [any, any]>} */
const DIFFERENT = {
  'ones and zeros': [ones([2]), zeros([2])],
  numbers: [tensor(1), tensor(2)],
  'numbers whose text is equal': [tensor(1), tensor(1.0000001)],
  'a number and a vector': [tensor(1), tensor([1])],
  'a row and a column': [ones([1, 3]), ones([3, 1])],
  'a shape and its inverse': [zeros([2, 3]), zeros([3, 2])],
  'a vector and a longer one': [zeros([2]), zeros([3])],
  'no rows': [zeros([0, 3]), zeros([0, 5])],
  'no columns': [zeros([2, 0]), zeros([2, 0, 3])],
  'NaN and a number': [tensor([NaN]), tensor([1])],
  'signs of zero': [tensor([0]), tensor([-0])],
  'signs of two numbers': [tensor([1, 2]), tensor([-1, -2])],
  'an infinity and another': [tensor([Infinity]), tensor([-Infinity])],
  'an element that print leaves out': [large, changed(805, 3)],
  'the last element': [large, changed(1039, 3)],
  'two signs that print leaves out': [
    large,
    (() => {
      const copy = changed(805, -large.data[805])
      copy.data[806] *= -1
      return copy
    })(),
  ],
  'a view and its source': [large, large.reshape([1040])],
  'a tensor and its array': [tensor([1, 2]), [1, 2]],
  'a tensor and its data': [tensor([1, 2]), new Float32Array([1, 2])],
}

test('no test framework finds two different tensors equal', () => {
  for (const [what, [a, b]] of Object.entries(DIFFERENT)) {
    assertCompared(a, b, false, what)
  }
})
test('test frameworks find two tensors of the same values and shape equal', () => {
  const nan = tensor([0]).div(0)
  for (const [what, a, b] of /** @type {[string, any, any][]} */ ([
    ['ones', ones([2]), ones([2])],
    ['numbers', tensor(1), tensor(1)],
    ['matrices', tensor([1, 2, 3, 4], [2, 2]), tensor([1, 2, 3, 4], [2, 2])],
    ['no elements', zeros([0, 3]), zeros([0, 3])],
    ['NaN of both signs', nan, nan.neg()],
    ['NaN and infinities', tensor([NaN, Infinity, -0]), tensor([NaN, Infinity, -0])],
    ['large tensors', large, large.clone()],
    ['a view and a copy', large.reshape([1040]), tensor(large.data.slice())],
    ['a result and a leaf', gpt.parameter(ones([2])).add(1), tensor([2, 2])],
  ])) {
    assertCompared(a, b, true, what)
  }
})

test('test frameworks compare tensors inside of other values', () => {
  const wraps = [(/** @type {any} */ v) => [{ loss: v }], (/** @type {any} */ v) => new Map([[1, v]])]
  for (const wrap of wraps) {
    for (const shape of [[], [2], [0, 3]])
      assertCompared(wrap(ones(shape)), wrap(ones(shape)), true, `${shape}`)
    assertCompared(wrap(ones([2])), wrap(zeros([2])), false, 'ones and zeros')
    assertCompared(wrap(tensor(1)), wrap(tensor(2)), false, 'numbers')
    assertCompared(wrap(zeros([0, 3])), wrap(zeros([0, 5])), false, 'no rows')
  }
})

test('a tensor without values equals only itself', () => {
  const [a, b] = [ones([2]), ones([2])]
  a.dispose()
  b.dispose()
  assertCompared(a, a, true, 'a disposed tensor and itself')
  assertCompared(a, b, false, 'two disposed tensors')
  assertCompared(a, ones([2]), false, 'a disposed tensor and a live one')
})

test('test frameworks compare layers by what is in them', () => {
  const make = (seed = 1) => {
    gpt.manualSeed(seed)
    return new gpt.Sequential(new gpt.Linear(4, 2), new gpt.GELU())
  }
  assertCompared(make(), make(), true, 'layers')
  assertCompared(make(), make(2), false, 'layers of other weights')
  assertCompared(make(), make().eval(), false, 'layers in another mode')
  assertCompared(make().quantize(), make().quantize(), true, 'int8 layers')
  assertCompared(make().quantize(), make(2).quantize(), false, 'int8 layers of other weights')
  assertCompared(make().quantize(), make().quantize({ groupSize: 2 }), false, 'int8 layers of other groups')
  assertCompared(make(), make().quantize(), false, 'a float32 layer and an int8 one')
  const int8Of = (/** @type {any} */ model) => model.quantize().layers[0].int8Weight
  assertCompared(int8Of(make()), int8Of(make()), true, 'int8 weights')
  assertCompared(int8Of(make()), int8Of(make(2)), false, 'other int8 weights')
  const list = (seed = 1) => new gpt.ModuleList([make(seed)])
  assertCompared(list(), list(), true, 'lists of layers')
  assertCompared(list(), list(2), false, 'lists of other layers')
  assertCompared(list(), new gpt.ModuleList(), false, 'a list and an empty one')
})

const model = new gpt.GPTModel({ vocabSize: 3, contextLength: 2, embDim: 2, nHeads: 1, nLayers: 1 }).eval()
const adam = () => new gpt.AdamW(model.parameters())

test('an optimizer and a cache equal only themselves', () => {
  for (const make of [adam, () => model.newCache()]) {
    const one = make()
    assertCompared(one, one, true, String(make))
    assertCompared(one, make(), false, String(make))
  }
})

test('what a framework says where two tensors differ shows both', () => {
  for (const [framework, [equal]] of Object.entries(FRAMEWORKS)) {
    if (/isDeep|eql|Match/.test(framework)) continue // they do not show tensors
    assert.throws(() => equal(tensor([1, 7]), tensor([1, 5])), /7[^]*5|5[^]*7/, framework)
  }
})

test('a tensor is cloned by nobody, and the error says what to send instead', async () => {
  const cache = model.newCache()
  /** @type {[any, string][]} */
  const cases = [
    [tensor(1), 'a Tensor: send x.data.slice() and x.shape, or x.item()'],
    [{ loss: tensor(1) }, 'x.item()'],
    [zeros([0, 3]), 'a Tensor of shape [0, 3]'],
    [new gpt.ReLU(), 'a layer: send gpt.saveSafetensors(layer), and load it there'],
    [new gpt.Linear(2, 2), 'send gpt.saveSafetensors(layer)'],
    [model, 'send gpt.saveSafetensors(layer)'],
    [adam(), 'an optimizer: send gpt.saveSafetensors(optimizer.stateDict())'],
    [cache, 'a cache: make one with model.newCache() where it is used'],
    [new gpt.Linear(2, 2).quantize().int8Weight, 'an Int8Weight: send w.values(), w.scales() and w.shape'],
  ]
  const { port1, port2 } = new MessageChannel()
  for (const [value, cure] of cases) {
    const expected = (/** @type {any} */ error) =>
      error.name === 'DataCloneError' && error.message.includes(cure)
    assert.throws(() => structuredClone(value), expected)
    assert.throws(() => port1.postMessage(value), expected)
  }
  port2.close()
})

test('a tensor iterates over its first axis, with gradients, as PyTorch’s', () => {
  const x = gpt.parameter(gpt.arange(1, 7).reshape([3, 2]))
  assert.equal(String([...x]), 'tensor([1., 2.]),tensor([3., 4.]),tensor([5., 6.])')
  let sum = tensor(0)
  let factor = 1
  for (const row of x) sum = sum.add(row.mul(factor++).sum())
  sum.backward()
  assert.deepEqual(x.grad?.data, Float32Array.of(1, 1, 2, 2, 3, 3))
  const [first, second] = tensor([7, 8])
  assert.deepEqual([first.shape, first.item(), second.item()], [[], 7, 8])
  assert.deepEqual([...zeros([0, 3])], [])
  assert.equal(String([...zeros([2, 0])]), 'tensor([]),tensor([])')
})

test('a row is made when the loop comes to it', () => {
  const x = zeros([1000, 16])
  const before = usedMemory(gpt)
  for (const row of x) {
    assert.ok(usedMemory(gpt) <= before + 64)
    row.dispose()
  }
})

test('a tensor of shape [] is not iterable, nor one that was disposed', () => {
  const gone = ones([2])
  gone.dispose()
  for (const x of [tensor(1), gone]) assert.throws(() => [...x], TypeError)
  const x = ones([2])
  assertRefuses(
    () => {
      for (const _ of x) x.dispose()
    },
    'DISPOSED',
    'at: the tensor should be live, got one that was disposed',
  )
})

test('what a framework compares is not what is printed', () => {
  assert.equal(inspect(tensor([1, 2])), 'tensor([1., 2.])')
  assert.equal(inspect({ x: tensor(0.5) }), '{ x: tensor(0.5000) }')
  assert.equal(inspect(new gpt.ReLU()), 'ReLU()')
  assert.equal(Object.prototype.toString.call(gpt.Tensor.prototype), '[object Tensor]')
  assert.equal(JSON.stringify({ x: tensor([1]) }), '{"x":[1]}')
})

test('no layer or function reads what frameworks compare, which takes as long as printing', () => {
  const tag = Object.getOwnPropertyDescriptor(gpt.Tensor.prototype, Symbol.toStringTag)
  assert.ok(tag)
  /** @type {string[]} */
  const reads = []
  let now = ''
  Object.defineProperty(gpt.Tensor.prototype, Symbol.toStringTag, {
    ...tag,
    get() {
      reads.push(now)
      return 'Tensor'
    },
  })
  try {
    for (const [name, make] of Object.entries(LAYERS)) {
      now = name
      const [layer, input] = make(gpt, { rows: 3, cols: 8, heads: 2 })
      layer.forward(input instanceof gpt.Tensor ? input : tensor(input))
    }
    const ids = tensor([[1, 0]])
    const weight = gpt.parameter(ones([2, 3]))
    now = 'embedding'
    const rows = gpt.embedding(ids, weight)
    now = 'crossEntropy'
    gpt.crossEntropy(rows, ids).backward()
    now = 'gather, indexSelect'
    rows.gather({ dim: 1, index: tensor([[[0, 1, 0]]]) })
    weight.indexSelect({ dim: 0, index: tensor([1]) })
  } finally {
    Object.defineProperty(gpt.Tensor.prototype, Symbol.toStringTag, tag)
  }
  assert.deepEqual(reads, [])
})
