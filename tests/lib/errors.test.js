// Bad arguments of every public function: the error names the argument, and the call leaks nothing.

/** @import { ErrorCode } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { runInNewContext } from 'node:vm'
import { GptLayersError } from 'gpt-layers'
import { functionsOf, OPERATIONS, samplesOf } from '../fuzz/api.js'
import { LAYERS } from '../layers.js'
import { assertRefuses, heapSize, load, loadForTest, nextAddress, untyped } from './support.js'

const gpt = untyped(await loadForTest())
const x = gpt.ones([2, 5])
const three = gpt.ones([3])
const scalar = gpt.ones([])
const fractions = gpt.tensor([[1, 0.5]])
const none = gpt.ones([0])
const vector = gpt.ones([6])
const tokens = gpt.ones([3, 6])
const tooMany = gpt.ones([2, 4, 6])
const noRows = gpt.ones([0, 3])
const noCols = gpt.ones([2, 0])
const sixtyFour = gpt.ones(Array(64).fill(1))
const sixtyFourOfSix = gpt.ones([...Array(63).fill(1), 6])
const sum = x.sum()
const leaf = gpt.parameter(gpt.ones([2]))
const embedding = new gpt.Embedding(7, 3)
const relu = new gpt.ReLU()
const linear = new gpt.Linear(6, 1)
const conv = new gpt.Conv1D(1, 6)
const norm = new gpt.LayerNorm(6)
const normed = norm.forward(tokens)
const normOfTwo = new gpt.LayerNorm([3, 5])
const normOfThree = new gpt.LayerNorm([2, 2, 5])
const smallEmbedding = new gpt.Embedding(3, 2)
const rmsNorm = new gpt.RMSNorm(6)
const batchNorm = new gpt.BatchNorm(6)
const feedForward = new gpt.FeedForward({ embDim: 6 })
const attention = new gpt.Attention({ embDim: 6, nHeads: 2, contextLength: 3 })
const config = { vocabSize: 5, contextLength: 3, embDim: 4, nHeads: 2, nLayers: 1 }

/** @type {unknown[]} */
const cyclic = []
cyclic.push(cyclic)
const sparse = [2, 0, 3]
delete sparse[1]
const transferred = new Float32Array(2)
structuredClone(transferred, { transfer: [transferred.buffer] })
const deep = Array.from({ length: 20_000 }).reduce((inner) => [inner], 1)

/** @type {Record<string, [() => unknown, ErrorCode, RegExp][]>} */
const refused = {
  manualSeed: [
    [() => gpt.manualSeed('1'), 'TYPE', /^manualSeed: n should be a safe integer, got "1"$/],
    [() => gpt.manualSeed(), 'TYPE', /got undefined/],
    [() => gpt.manualSeed(1n), 'TYPE', /got 1n/],
    [() => gpt.manualSeed(1.5), 'VALUE', /got 1\.5/],
    [() => gpt.manualSeed(NaN), 'VALUE', /got NaN/],
    [() => gpt.manualSeed(2 ** 53), 'VALUE', /got 9007199254740992/],
  ],
  randn: [
    [() => gpt.randn(5), 'TYPE', /^randn: shape should be an array of sizes, got 5$/],
    [() => gpt.randn(), 'TYPE', /got undefined/],
    [() => gpt.randn([2, '5']), 'TYPE', /^randn: shape\[1\] should be a non-negative integer, got "5"$/],
    [() => gpt.randn([2, -5]), 'VALUE', /shape\[1\].* got -5$/],
    [() => gpt.randn([2, 0.5]), 'VALUE', /got 0\.5$/],
    [() => gpt.randn([Infinity]), 'VALUE', /got Infinity$/],
    [() => gpt.randn([2 ** 40]), 'MEMORY', /^randn: needs 4398046511104 bytes/],
    [() => gpt.randn(Array(64).fill(2 ** 50)), 'MEMORY', /^randn: needs Infinity bytes/],
    [() => gpt.randn(sparse), 'TYPE', /^randn: shape\[1\] should be a non-negative integer, got undefined$/],
    [() => gpt.randn(Array(65).fill(1)), 'VALUE', /^randn: shape should have at most 64 elements, got 65$/],
    [() => gpt.randn(Array(2 ** 32 - 1)), 'VALUE', /at most 64 elements, got 4294967295$/],
    [
      () => gpt.randn([0, 2 ** 20, 2 ** 20]),
      'MEMORY',
      /where 0 counts as 1, and a tensor may have 2147483520$/,
    ],
    [
      () => gpt.randn([2 ** 29]),
      'MEMORY',
      /^randn: needs 2147483648 bytes for shape \[536870912\], and a tensor/,
    ],
    [() => none.reshape([0, 2 ** 29]), 'MEMORY', /^reshape: needs 2147483648 bytes/],
    [() => gpt.randn([Symbol('two')]), 'TYPE', /shape\[0\] .* got Symbol\(two\)$/],
    [() => gpt.randn([2n]), 'TYPE', /shape\[0\] .* got 2n$/],
  ],
  rand: [[() => gpt.rand('2,5'), 'TYPE', /^rand: shape/]],
  zeros: [[() => gpt.zeros(null), 'TYPE', /^zeros: shape .* got null$/]],
  ones: [[() => gpt.ones({}), 'TYPE', /^ones: shape .* got an object$/]],
  tensor: [
    [() => gpt.tensor(), 'TYPE', /^tensor: values should be a number or an array, got undefined$/],
    [() => gpt.tensor(['a']), 'TYPE', /^tensor: values\[0\] should be a number or an array, got "a"$/],
    [() => gpt.tensor([1, 2], [3]), 'SHAPE', /^tensor: values should be flat with 3 elements/],
    [() => gpt.tensor([1, 2], [2, 3]), 'SHAPE', /for shape \[2, 3\], got shape \[2\]$/],
    [
      () =>
        gpt.tensor([
          [[1], [2]],
          [3, 4],
        ]),
      'SHAPE',
      /^tensor: values\[1\] should have shape \[2, 1\]/,
    ],
    [() => gpt.tensor([1], 'x'), 'TYPE', /^tensor: shape should be an array of sizes, got "x"$/],
    [() => gpt.tensor(cyclic), 'VALUE', /^tensor: values should have at most 64 levels, got more$/],
    [() => gpt.tensor(deep), 'VALUE', /at most 64 levels/],
    [
      () => gpt.tensor(transferred),
      'VALUE',
      /^tensor: values should be readable, got a Float32Array whose memory was transferred or made smaller$/,
    ],
    [() => gpt.tensor([transferred]), 'VALUE', /^tensor: values\[0\] should be readable/],
    [() => gpt.tensor([Symbol('one')]), 'TYPE', /^tensor: values\[0\] .* got Symbol\(one\)$/],
    [() => gpt.tensor(new DataView(new ArrayBuffer(8))), 'TYPE', /got a DataView$/],
    [() => gpt.tensor(new BigInt64Array(2)), 'TYPE', /got a BigInt64Array$/],
  ],
  scope: [
    [() => gpt.scope(), 'TYPE', /^scope: fn should be a function, got undefined$/],
    [
      () => gpt.scope(async () => gpt.ones([1])),
      'TYPE',
      /^scope: fn should return its result at once, got a Promise/,
    ],
    [
      () => gpt.scope(function* () {}),
      'TYPE',
      /^scope: fn should return its result at once, got a generator function$/,
    ],
    [() => gpt.noGrad(function* () {}), 'TYPE', /^noGrad: fn .* at once, got a generator function$/],
    [() => gpt.noGrad(async function* () {}), 'TYPE', /^noGrad: fn .* at once, got a generator function$/],
  ],
  'more axes than a tensor may have': [
    [
      () => smallEmbedding.forward(sixtyFour),
      'SHAPE',
      /^Embedding\.forward: the result should have at most 64 axes, got 65$/,
    ],
    [
      () => attention.forward(sixtyFourOfSix, { returnWeights: true }),
      'SHAPE',
      /^Attention\.forward: the result should have at most 64 axes, got 65$/,
    ],
  ],
  at: [
    [
      () => noRows.at(0),
      'SHAPE',
      /^at: the tensor should have elements along its first axis, got shape \[0, 3\]$/,
    ],
  ],
  Linear: [[() => new gpt.Linear(2 ** 20, 2 ** 20), 'MEMORY', /^Linear: needs 4398046511104 bytes/]],
  Conv1D: [[() => new gpt.Conv1D(2 ** 20, 2 ** 20), 'MEMORY', /^Conv1D: needs 4398046511104 bytes/]],
  GELU: [
    [
      () => new gpt.GELU({ approximate: 'erf' }),
      'VALUE',
      /^GELU: approximate should be 'tanh' or 'none', got "erf"$/,
    ],
    [() => new gpt.GELU({ approximate: true }), 'TYPE', /got true$/],
  ],
  LayerNorm: [
    [() => new gpt.LayerNorm([]), 'VALUE', /^LayerNorm: embDim should have 1 to 64 sizes, got 0$/],
    [
      () => new gpt.LayerNorm([2, 0]),
      'VALUE',
      /^LayerNorm: embDim\[1\] should be a positive integer, got 0$/,
    ],
    [
      () => normOfTwo.forward(x),
      'SHAPE',
      /^LayerNorm.forward: x should end in 3, 5 \(embDim\), got shape \[2, 5\]$/,
    ],
    [() => normOfThree.forward(x), 'SHAPE', /end in 2, 2, 5 \(embDim\), got shape \[2, 5\]$/],
  ],
  Attention: [
    [() => new gpt.Attention(), 'TYPE', /^Attention: config should be a plain object, got undefined$/],
    [
      () => new gpt.Attention({ embDim: 6, nHeads: 4, contextLength: 3 }),
      'VALUE',
      /^Attention: nHeads should be a divisor of 6 \(embDim\), got 4$/,
    ],
    [
      () => attention.forward(vector),
      'SHAPE',
      /^Attention.forward: x should end in \[tokens, 6\] with at most 3 \(contextLength\) tokens, got shape \[6\]$/,
    ],
    [
      () => attention.forward(tooMany),
      'SHAPE',
      /with at most 3 \(contextLength\) tokens, got shape \[2, 4, 6\]$/,
    ],
    [
      () => attention.forward(tokens, { returnWeights: 1 }),
      'TYPE',
      /^Attention.forward: returnWeights should be true or false, got 1$/,
    ],
  ],
  Embedding: [
    [() => new gpt.Embedding(2 ** 20, 2 ** 20), 'MEMORY', /^Embedding: needs 4398046511104 bytes/],
    [() => embedding.forward('1'), 'TYPE', /^Embedding.forward: indices should be integers \(.*\), got "1"$/],
    [
      () => embedding.forward([0, '1']),
      'TYPE',
      /^Embedding.forward: indices\[1\] should be a number or an array, got "1"$/,
    ],
    [
      () => embedding.forward([[0, 1], [2]]),
      'SHAPE',
      /^Embedding.forward: indices\[1\] should have shape \[2\] like indices\[0\], got \[1\]$/,
    ],
    [
      () => embedding.forward(7),
      'VALUE',
      /^Embedding.forward: indices should be an integer from 0 to 6, got 7$/,
    ],
    [
      () =>
        embedding.forward([
          [0, 6],
          [3, -1],
        ]),
      'VALUE',
      /^Embedding.forward: indices\[1\]\[1\] should be an integer from 0 to 6, got -1$/,
    ],
    [() => embedding.forward(Int32Array.of(1, 2 ** 31 - 1)), 'VALUE', /indices\[1\] .* got 2147483647$/],
    [() => embedding.forward([2 ** 32]), 'VALUE', /got 4294967296$/],
    [() => embedding.forward([0.5]), 'VALUE', /indices\[0\] .* got 0\.5$/],
    [() => embedding.forward([NaN]), 'VALUE', /got NaN$/],
    [
      () => embedding.forward(fractions),
      'VALUE',
      /^Embedding.forward: indices\[0\]\[1\] should be .*, got 0\.5$/,
    ],
  ],
  crossEntropy: [
    [() => gpt.crossEntropy([1, 2], [0]), 'TYPE', /^crossEntropy: logits should be a Tensor, got \[1, 2\]$/],
    [
      () => gpt.crossEntropy(scalar, 0),
      'SHAPE',
      /^crossEntropy: logits should have shape \[\.\.\., classes\], got \[\]$/,
    ],
    [
      () => gpt.crossEntropy(x, [0, 5]),
      'VALUE',
      /^crossEntropy: targets\[1\] should be an integer from 0 to 4, or -100, got 5$/,
    ],
    [
      () => gpt.crossEntropy(noCols, [0, 1]),
      'VALUE',
      /^crossEntropy: targets\[0\] should be -100, as there is nothing to choose from, got 0$/,
    ],
    [() => gpt.crossEntropy(x, [-1, 0]), 'VALUE', /targets\[0\] .* got -1$/],
    [() => gpt.crossEntropy(x, [0, 0.5]), 'VALUE', /got 0\.5$/],
    [
      () => gpt.crossEntropy(x, [0, 1, 2]),
      'SHAPE',
      /^crossEntropy: targets should have shape \[2\] \(logits without the last axis\), got \[3\]$/,
    ],
    [() => gpt.crossEntropy(x, [[0], [1]]), 'SHAPE', /got \[2, 1\]$/],
    [() => gpt.crossEntropy(x, 'a'), 'TYPE', /^crossEntropy: targets should be integers/],
    [() => gpt.crossEntropy(x), 'TYPE', /got undefined$/],
    [() => gpt.crossEntropy(x, [-100, 0], { ignoreIndex: -1 }), 'VALUE', /0 to 4, or -1, got -100$/],
    [() => gpt.crossEntropy(x, [0, 0], { ignoreIndex: 0.5 }), 'VALUE', /ignoreIndex .* got 0\.5$/],
    [
      () => gpt.crossEntropy(x, [0, 0], { reduction: 'avg' }),
      'VALUE',
      /^crossEntropy: reduction should be 'none' or 'mean' or 'sum', got "avg"$/,
    ],
    [() => gpt.crossEntropy(x, [0, 0], { labelSmoothing: 1.1 }), 'VALUE', /labelSmoothing .* got 1\.1$/],
    [() => gpt.crossEntropy(three, 3), 'VALUE', /targets should be .* got 3$/],
  ],
  saveSafetensors: [
    [
      () => gpt.saveSafetensors([x]),
      'TYPE',
      /^saveSafetensors: dictOrModule should be a plain object, got an array of 1$/,
    ],
  ],
  clipGradNorm: [
    [
      () => gpt.clipGradNorm(Object.assign(Array(3), [x]), 1),
      'TYPE',
      /^clipGradNorm: parameters\[1\] should be a Tensor, got undefined$/,
    ],
  ],
  backward: [
    [
      () => leaf.backward(),
      'SHAPE',
      /^backward: gradient should be given for a tensor of 2 numbers, of shape \[2\], got none$/,
    ],
    [() => sum.backward(), 'VALUE', /^backward: the tensor should require a gradient/],
    [() => normed.backward(vector), 'SHAPE', /^backward: gradient should have shape \[3, 6\], got \[6\]$/],
    [() => normed.backward([1]), 'TYPE', /^backward: gradient should be a Tensor, got \[1\]$/],
  ],
  mse: [
    [() => gpt.mse(x, [1]), 'TYPE', /^mse: target should be a Tensor, got \[1\]$/],
    [() => gpt.mse(1, x), 'TYPE', /^mse: prediction should be a Tensor, got 1$/],
    [() => gpt.mse(x, three), 'SHAPE', /^mse: target should have shape \[2, 5\], got \[3\]$/],
    [() => gpt.mse(x, x, { reduction: 'avg' }), 'VALUE', /^mse: reduction should be 'none' or/],
  ],
  BatchNorm: [
    [
      () => batchNorm.forward(vector),
      'VALUE',
      /^BatchNorm.forward: x should have 2 rows or more in training mode, got shape \[6\]$/,
    ],
  ],
  FeedForward: [
    [() => new gpt.FeedForward({ embDim: Symbol('x') }), 'TYPE', /embDim should be a positive integer/],
    [() => new gpt.FeedForward(), 'TYPE', /^FeedForward: config should be a plain object, got undefined$/],
    [() => new gpt.FeedForward({ embDim: 4, hiddenDim: 0 }), 'VALUE', /hiddenDim .* got 0$/],
    [() => new gpt.FeedForward({ embDim: 4, approximate: 'x' }), 'VALUE', /approximate/],
  ],
  Sequential: [
    [() => new gpt.Sequential(1), 'TYPE', /^Sequential: modules\[0\] should be a layer, got 1$/],
    [() => new gpt.Sequential(relu, [relu]), 'TYPE', /modules\[1\] .* got an array of 1$/],
    [() => new gpt.Sequential(relu, linear).forward(x), 'SHAPE', /^Linear.forward/],
  ],
  Tensor: [
    [() => x.add('1'), 'TYPE', /^add: other should be a Tensor or a number, got "1"$/],
    [() => x.sub(), 'TYPE', /^sub: other .* got undefined$/],
    [() => x.mul([1]), 'TYPE', /^mul: other/],
    [() => x.div(three), 'SHAPE', /^div: other should broadcast with shape \[2, 5\], got shape \[3\]$/],
    [() => x.mean({ dim: 2 }), 'VALUE', /^mean: dim should be an axis from -2 to 1, got 2$/],
    [() => x.mean({ dim: '-1' }), 'TYPE', /^mean: dim .* got "-1"$/],
    [() => x.mean(JSON.parse('{"__proto__": 0}')), 'VALUE', /among dim, keepdim, got "__proto__"$/],
    [() => x.mean({ constructor: 0 }), 'VALUE', /got "constructor"$/],
    [() => x.mean({ dim: Symbol('axis') }), 'TYPE', /^mean: dim .* got Symbol\(axis\)$/],
    [() => x.var({ keepdim: 1 }), 'TYPE', /^var: keepdim should be true or false, got 1$/],
    [
      () => x.var({ unbiased: false, correction: 0 }),
      'VALUE',
      /^var: options should have correction or unbiased, got both$/,
    ],
    [() => x.var({ correction: NaN }), 'VALUE', /^var: correction should be a finite number, got NaN$/],
    [() => x.var({ correction: true }), 'TYPE', /^var: correction .* got true$/],
    [() => x.var({ unbiased: 'no' }), 'TYPE', /^var: unbiased should be true or false, got "no"$/],
    [() => x.max({ dim: 2 }), 'VALUE', /^max: dim should be an axis from -2 to 1, got 2$/],
    [() => x.transpose(0), 'TYPE', /^transpose: dim1 should be an axis from -2 to 1, got undefined$/],
    [() => x.transpose(-3, 0), 'VALUE', /^transpose: dim0 should be an axis from -2 to 1, got -3$/],
    [() => x.at(2), 'VALUE', /^at: index should be an integer from -2 to 1, got 2$/],
    [() => x.at(-3), 'VALUE', /got -3$/],
    [() => x.at(), 'TYPE', /^at: index should be an integer from -2 to 1, got undefined$/],
    [() => x.at(0.5), 'VALUE', /got 0\.5$/],
    [() => scalar.at(0), 'SHAPE', /^at: the tensor should have 1 axis or more, got shape \[\]$/],
    [() => scalar.slice(0), 'SHAPE', /^slice: the tensor should have 1 axis or more, got shape \[\]$/],
    [() => x.slice('1'), 'TYPE', /^slice: start should be an integer, got "1"$/],
    [() => x.slice(0, 1.5), 'VALUE', /^slice: end should be an integer, got 1\.5$/],
    [() => x.item(), 'SHAPE', /^item: the tensor should have 1 element, got shape \[2, 5\]$/],
    [() => x.reshape([3]), 'SHAPE', /^reshape: shape should hold 10 elements, got \[3\]$/],
    [() => x.reshape(10), 'TYPE', /^reshape: shape should be an array of sizes, got 10$/],
    [
      () => x.toString({ precision: 1.5 }),
      'VALUE',
      /^toString: precision should be an integer from 0 to 20, got 1\.5$/,
    ],
    [
      () => x.toString({ sciMode: 'auto' }),
      'TYPE',
      /^toString: sciMode should be true or false, got "auto"$/,
    ],
  ],
}

for (const [name, calls] of Object.entries(refused)) {
  test(`${name} names a bad argument and says what it expects, and leaks nothing`, () => {
    const heap = heapSize(gpt)
    for (const [call, code, message] of calls) {
      gpt.scope(() => {
        const before = nextAddress(gpt)
        assertRefuses(call, code, message)
        assert.equal(nextAddress(gpt), before, `${call} should leak nothing`)
      })
    }
    assert.equal(heapSize(gpt), heap)
    assert.deepEqual([...x.data], Array(10).fill(1))
  })
}

/**
 * Arguments of each kind: the calls with one, by the names that the error gives it; and what the argument may
 * not be.
 *
 * @type {Record<string, { TYPE: unknown[], VALUE: unknown[], calls: Record<string, (value: any) => unknown> }>}
 */
const ARGUMENTS = {
  'a positive integer': {
    TYPE: ['5', null, undefined],
    VALUE: [0, -1, 0.5, NaN],
    calls: {
      'Linear: inFeatures': (n) => new gpt.Linear(n, 2),
      'Linear: outFeatures': (n) => new gpt.Linear(2, n),
      'Conv1D: nf': (n) => new gpt.Conv1D(n, 2),
      'Conv1D: nx': (n) => new gpt.Conv1D(2, n),
      'Embedding: numEmbeddings': (n) => new gpt.Embedding(n, 2),
      'Embedding: embeddingDim': (n) => new gpt.Embedding(2, n),
      'LayerNorm: embDim': (n) => new gpt.LayerNorm(n),
      'RMSNorm: embDim': (n) => new gpt.RMSNorm(n),
      'BatchNorm: numFeatures': (n) => new gpt.BatchNorm(n),
      'FeedForward: embDim': (embDim) => new gpt.FeedForward({ embDim }),
      'Attention: embDim': (embDim) => new gpt.Attention({ ...config, embDim }),
      'Attention: nHeads': (nHeads) => new gpt.Attention({ ...config, nHeads }),
      'Attention: contextLength': (n) => new gpt.Attention({ ...config, contextLength: n }),
      'GPTModel: contextLength': (n) => new gpt.GPTModel({ ...config, contextLength: n }),
      'GPTModel: vocabSize': (vocabSize) => new gpt.GPTModel({ ...config, vocabSize }),
    },
  },
  'true or false': {
    TYPE: [1, null, 'no'],
    VALUE: [],
    calls: {
      'Linear: bias': (bias) => new gpt.Linear(2, 2, { bias }),
      'Conv1D: bias': (bias) => new gpt.Conv1D(2, 2, { bias }),
      'LayerNorm: bias': (bias) => new gpt.LayerNorm(2, { bias }),
      'FeedForward: bias': (bias) => new gpt.FeedForward({ embDim: 4, bias }),
      'Attention: bias': (bias) => new gpt.Attention({ ...config, bias }),
      'Attention: qkvBias': (qkvBias) => new gpt.Attention({ ...config, qkvBias }),
      'GPTModel: tieWeights': (tieWeights) => new gpt.GPTModel({ ...config, tieWeights }),
    },
  },
  'a number from 0 to 1': {
    TYPE: ['0.1', null],
    VALUE: [1.1, -0.1, NaN],
    calls: {
      'Dropout: p': (p) => new gpt.Dropout(p),
      'BatchNorm: momentum': (momentum) => new gpt.BatchNorm(5, { momentum }),
      'Attention: dropRate': (dropRate) => new gpt.Attention({ ...config, dropRate }),
    },
  },
  'a finite float32 >= 0': {
    TYPE: ['1e-5', null],
    VALUE: [-1, 1e39, NaN],
    calls: {
      'LayerNorm: eps': (eps) => new gpt.LayerNorm(5, { eps }),
      'RMSNorm: eps': (eps) => new gpt.RMSNorm(5, { eps }),
      'BatchNorm: eps': (eps) => new gpt.BatchNorm(5, { eps }),
    },
  },
}

for (const [expected, { calls, ...wrong }] of Object.entries(ARGUMENTS)) {
  test(`an argument that should be ${expected} is named where it is not, and nothing is left`, () => {
    const before = nextAddress(gpt)
    for (const [name, call] of Object.entries(calls)) {
      for (const [code, values] of Object.entries(wrong)) {
        for (const value of values) {
          const message = `${name} should be ${expected}, got ${inspect(value).replaceAll("'", '"')}`
          assert.throws(() => call(value), { code, message })
        }
      }
    }
    assert.equal(nextAddress(gpt), before)
  })
}

test('a layer names an x that does not end in its width, and an x that is no tensor', () => {
  /** @type {[string, any][]} */
  const layers = [
    ['inFeatures', linear],
    ['nx', conv],
    ['embDim', norm],
    ['embDim', rmsNorm],
    ['numFeatures', batchNorm],
    ['embDim', feedForward],
    ['embDim', attention],
  ]
  for (const [width, layer] of layers) {
    for (const input of [x, scalar]) {
      const message = `${layer.constructor.name}.forward: x should end in 6 (${width}), got shape [${input.shape.join(', ')}]`
      assert.throws(() => layer.forward(input), { code: 'SHAPE', message })
    }
  }
  for (const [name, make] of Object.entries(LAYERS)) {
    const [layer, input] = make(gpt, { rows: 3, cols: 4, heads: 2 })
    if (Array.isArray(input)) continue // it takes indices
    for (const wrong of [1, [1], undefined])
      assertRefuses(
        () => layer.forward(wrong),
        'TYPE',
        RegExp(`^${name.split(',')[0]}.forward: x should be a Tensor, got `),
      )
  }
})

test('every public function refuses one argument more than it reads', async () => {
  /** @type {Record<string, any[]>} */
  const samples = { gpt: [gpt], init: [gpt.init], ...samplesOf(gpt) }
  const tried = new Set()
  for (const name of functionsOf({ gpt })) {
    if (name.includes('@@') || name === 'new Sequential') continue // those that JavaScript calls; any number
    const [kind, method] = name.split(/[. ]/)
    const most = OPERATIONS[name].args.length
    // A forward that takes no context reads one less.
    const limit = most === 0 ? 'no arguments' : `at most ${method === 'forward' ? '[12]' : most} arguments?`
    const args = [...Array(most), 'more']
    const expected = new RegExp(`^(\\w+\\.)?${method}: takes ${limit}, got ${args.length}: .*"more"$`)
    if (kind === 'new') {
      assertRefuses(() => new gpt[method](...args), 'TYPE', expected)
      tried.add(name)
    }
    for (const object of samples[kind] ?? []) {
      if (typeof object[method] !== 'function') continue
      assertRefuses(() => object[method](...args), 'TYPE', expected)
      tried.add(name)
    }
  }
  assert.ok(tried.size > 80, `${tried.size} functions`)
  for (const leaf of samples.module) {
    if (/^(Module|ModuleList|Attention|Sequential|TransformerBlock|GPTModel)$/.test(leaf.constructor.name))
      continue
    assertRefuses(() => leaf.forward(x, { dim: 0 }), 'TYPE', /forward: takes at most 1 argument, got 2: /)
  }
  assertRefuses(() => gpt.dispose(1), 'TYPE', /^dispose: takes no arguments, got 1: 1$/)
  const { fromPretrained } = gpt.GPTModel
  const message = 'GPTModel.fromPretrained: takes at most 2 arguments, got 3: undefined, an object, 1'
  await assert.rejects(fromPretrained.call(gpt.GPTModel, undefined, {}, 1), { message, code: 'TYPE' })
  await assert.rejects(untyped(gpt).load({}, 1), {
    message: 'load: takes at most 1 argument, got 2: an object, 1',
  })
})

test('an argument too many is allowed where it is undefined, and many are counted, not listed', () => {
  assert.deepEqual(untyped(x).sum(undefined, undefined).toArray(), 10)
  assert.equal(new gpt.ReLU(undefined).training, true)
  assertRefuses(() => x.reshape(...Array(99).fill(1)), 'TYPE', /^reshape: takes at most 1 argument, got 99$/)
})

test('PyTorch’s options that have one value here are refused with the reason', () => {
  const [float32, cpu] = ['\\(all tensors are float32\\)', '\\(all tensors are on the CPU\\)']
  const wrong = untyped(gpt)
  for (const [call, text] of /** @type {[() => unknown, string][]} */ ([
    [
      () => x.sum({ dtype: 'float64' }),
      `^sum: options should be among dim, keepdim, got "dtype" ${float32}$`,
    ],
    [
      () => new wrong.Linear(1, 1, { device: 'cuda' }),
      `^Linear: options should be among bias, got "device" ${cpu}$`,
    ],
    [
      () => wrong.zeros([2], { dtype: 1, device: 2 }),
      `^zeros: takes .* got 2: \\[2\\], an object ${float32} ${cpu}$`,
    ],
    [
      () => wrong.tensor([1], { dtype: 1 }),
      `^tensor: shape should be an array of sizes, got an object ${float32}$`,
    ],
    [() => x.cumsum({ out: x }), 'got "out" \\(every result is a new tensor\\)$'],
  ])) {
    assert.throws(call, { message: new RegExp(text) })
  }
})

const model = new gpt.GPTModel(config).eval()
const row = gpt.ones([1, 4])

/**
 * By class and method: calls each public function that takes an object of names and values, options or
 * others.
 *
 * @type {Record<string, (given: any) => unknown>}
 */
const TAKES_OBJECT = {
  load,
  'Tensor.toString': (given) => x.toString(given),
  'Tensor.backward': (given) => gpt.parameter(gpt.ones([])).backward(undefined, given),
  'Tensor.sum': (given) => x.sum(given),
  'Tensor.max': (given) => x.max(given),
  'Tensor.min': (given) => x.min(given),
  'Tensor.argmax': (given) => x.argmax(given),
  'Tensor.argmin': (given) => x.argmin(given),
  'Tensor.std': (given) => x.std(given),
  'Tensor.norm': (given) => x.norm(given),
  'Tensor.logsumexp': (given) => x.logsumexp(given),
  'Tensor.cumsum': (given) => x.cumsum(given),
  'Tensor.topk': (given) => x.topk(1, given),
  'Tensor.gather': (given) => x.gather(given),
  'Tensor.indexSelect': (given) => x.indexSelect(given),
  'Tensor.mean': (given) => x.mean(given),
  'Tensor.var': (given) => x.var(given),
  'Tensor.slice': (given) => x.slice(0, 1, given),
  'Tensor.split': (given) => x.split(1, given),
  'Tensor.chunk': (given) => x.chunk(1, given),
  'Tensor.tril': (given) => x.tril(given),
  'Tensor.triu': (given) => x.triu(given),
  'Tensor.gelu': (given) => x.gelu(given),
  'Tensor.clamp': (given) => x.clamp(given),
  'Tensor.softmax': (given) => x.softmax(given),
  'Tensor.logSoftmax': (given) => x.logSoftmax(given),
  cat: (given) => gpt.cat([x], given),
  stack: (given) => gpt.stack([x], given),
  multinomial: (given) => gpt.multinomial(x, 1, given),
  allclose: (given) => gpt.allclose(x, x, given),
  'Module.quantize': (given) => new gpt.ReLU().quantize(given),
  'Module.loadStateDict': (given) => new gpt.ReLU().loadStateDict(given),
  Linear: (given) => new gpt.Linear(1, 1, given),
  Conv1D: (given) => new gpt.Conv1D(1, 1, given),
  GELU: (given) => new gpt.GELU(given),
  'init.normal': (given) => gpt.init.normal(x, given),
  'init.uniform': (given) => gpt.init.uniform(x, given),
  'init.xavierUniform': (given) => gpt.init.xavierUniform(x, given),
  'init.xavierNormal': (given) => gpt.init.xavierNormal(x, given),
  'init.kaimingUniform': (given) => gpt.init.kaimingUniform(x, given),
  'init.kaimingNormal': (given) => gpt.init.kaimingNormal(x, given),
  layerNorm: (given) => gpt.layerNorm(x, 5, null, null, given),
  rmsNorm: (given) => gpt.rmsNorm(x, 5, null, given),
  dropout: (given) => gpt.dropout(x, given),
  scaledDotProductAttention: (given) => gpt.scaledDotProductAttention(x, x, x, given),
  LayerNorm: (given) => new gpt.LayerNorm(1, given),
  BatchNorm: (given) => new gpt.BatchNorm(1, given),
  RMSNorm: (given) => new gpt.RMSNorm(1, given),
  Softmax: (given) => new gpt.Softmax(given),
  FeedForward: (given) => new gpt.FeedForward(given),
  Attention: (given) => new gpt.Attention(given),
  'Attention.forward': (given) => new gpt.Attention(config).forward(row, given),
  TransformerBlock: (given) => new gpt.TransformerBlock(given),
  'TransformerBlock.forward': (given) => new gpt.TransformerBlock(config).forward(row, given),
  GPTModel: (given) => new gpt.GPTModel(given),
  'GPTModel.forward': (given) => model.forward([1], given),
  'GPTModel.newCache': (given) => model.newCache(given),
  'GPTModel.generate': (given) => model.generate([1], given),
  'GPTModel.fromPretrained': (given) =>
    gpt.GPTModel.fromPretrained(gpt.saveSafetensors(model, { names: 'ours' }), given),
  'Sequential.forward': (given) => new gpt.Sequential(new gpt.Attention(config)).forward(row, given),
  'Optimizer.loadStateDict': (given) => new gpt.SGD([x], { lr: 1 }).loadStateDict(given),
  Adam: (given) => new gpt.Adam([x], given),
  AdamW: (given) => new gpt.AdamW([x], given),
  SGD: (given) => new gpt.SGD([x], given),
  cosineWithWarmup: (given) => gpt.cosineWithWarmup(given),
  clipGradNorm: (given) => gpt.clipGradNorm([x], 1, given),
  crossEntropy: (given) => gpt.crossEntropy(x, [0, 1], given),
  mse: (given) => gpt.mse(x, x, given),
  saveSafetensors: (given) => gpt.saveSafetensors({}, given),
}

test('only plain objects of known names are options', async () => {
  const types = readFileSync(new URL('../../dist/index.d.ts', import.meta.url), 'utf8')
  const found = new Set()
  let owner = ''
  for (const line of types.split('\n')) {
    owner = /^declare (?:class|const) (\w+)/.exec(line)?.[1] ?? owner
    const method = /(\w+)(?:<.*>)?\(.*\b(?:options|config|context|dict)\??: /.exec(line)?.[1]
    if (!method) continue
    if (line.startsWith('declare function')) found.add(method)
    else found.add(method === 'constructor' ? owner : `${owner}.${method}`)
  }
  // Module.forward refuses every call.
  const apart = ['GptLayersError', 'Module.forward']
  assert.deepEqual(
    [...found].filter((name) => !apart.includes(name)).sort(),
    Object.keys(TAKES_OBJECT).sort(),
  )

  class Config {
    embDim = 4
  }
  const others = [
    x,
    new Map([['dim', 0]]),
    new Set(['dim']),
    new Date(0),
    /x/,
    new Error('x'),
    new Config(),
    Object.create({ dim: 0 }),
    Promise.resolve(),
    new Float32Array(2),
    [],
    model,
    model.newCache(),
    Object(1),
    Config,
    null,
    true,
    1,
    'dim',
  ]
  const heap = heapSize(gpt)
  for (const [name, call] of Object.entries(TAKES_OBJECT)) {
    for (const other of others) {
      await assert.rejects(
        async () => call(other),
        (error) => {
          const { code, message } = /** @type {GptLayersError} */ (error)
          assert.equal(code, 'TYPE', `${name}: ${message}`)
          return /^[\w.]+: (options|config|context|dict) should be a plain object, got ./.test(message)
        },
      )
    }
    const message = name.endsWith('loadStateDict')
      ? /alpha/ // no tensor of the layer, or no part of the optimizer
      : /^[\w.]+: (options|config|context) should (be|have names|have options) among .+, got "alpha"$/
    await assert.rejects(async () => call({ alpha: 2 }), { message }, name)
  }
  const withConfig = { config: new Map() }
  const message = 'GPTModel.fromPretrained: config should be a plain object, got a Map'
  await assert.rejects(async () => TAKES_OBJECT['GPTModel.fromPretrained'](withConfig), { message })
  assert.equal(heapSize(gpt), heap)
})

test('what PyTorch takes and we do not is an error, and not ignored; what we take has an effect', () => {
  const rows = gpt.tensor([
    [0, 1],
    [2, 3],
  ])
  const targets = [1, 1]
  const attend = new gpt.Attention(config)
  /** @type {[() => unknown, RegExp][]} */
  const cases = [
    [() => new gpt.Softmax(1), /^Softmax: options should be a plain object, got 1; write { dim: 1 }$/],
    [() => rows.max(rows), /^max: options should be a plain object, got a Tensor$/],
    [() => rows.sum(rows), /^sum: options should be a plain object, got a Tensor$/],
    [() => attend.forward(row, gpt.ones([1, 1])), /^Attention.forward: options should be .* got a Tensor$/],
    [() => new gpt.LayerNorm(2, rows), /^LayerNorm: options should be a plain object, got a Tensor$/],
    [() => rows.add(rows, { alpha: 2 }), /^add: takes at most 1 argument, got 2: a Tensor, an object$/],
    [() => gpt.zeros([2], { requiresGrad: true }), /^zeros: takes at most 1 argument, got 2/],
    [() => gpt.randn([2], { std: 0.02 }), /^randn: takes at most 1 argument, got 2/],
    [() => new gpt.Embedding(3, 2, { paddingIdx: 0 }), /^Embedding: takes at most 2 arguments, got 3/],
  ]
  for (const [call, message] of cases) assertRefuses(call, 'TYPE', message)
  assert.equal(new gpt.ReLU().train(false).training, false)
  assert.equal(
    new gpt.Softmax({ dim: 0 })
      .forward(gpt.zeros([4, 1]))
      .at(0)
      .item(),
    0.25,
  )
  const sum = (/** @type {any} */ loss) => Math.round(loss({ reduction: 'sum' }).item() / loss().item())
  assert.equal(
    sum((/** @type {any} */ options) => gpt.crossEntropy(rows, targets, options)),
    2,
  )
  assert.equal(
    sum((/** @type {any} */ options) => gpt.mse(rows, rows.mul(2), options)),
    4,
  )
  const smooth = gpt.crossEntropy(rows, targets, { labelSmoothing: 0.5 }).item()
  assert.notEqual(smooth, gpt.crossEntropy(rows, targets).item())
})

test('options may come from another realm, without a prototype, or frozen', () => {
  const given = [
    runInNewContext('({ dim: 0 })'),
    Object.assign(Object.create(null), { dim: 0 }),
    Object.freeze({ dim: 0 }),
  ]
  for (const options of given) assert.deepEqual(x.sum(options).toArray(), [2, 2, 2, 2, 2])
})

test('operators on a Tensor are refused and named; its text stays', () => {
  const expected = /^a Tensor has no operators: use x\.add, sub, mul, div or neg; /
  const calls = [() => -x, () => +x, () => x / 2, () => x * x, () => x + 1, () => `${x}` + x, () => x > 1]
  for (const call of calls) assertRefuses(call, 'TYPE', expected)
  const text = 'tensor([1., 1., 1.])'
  assert.deepEqual([String(three), `${three}`, [three].join(), inspect(three)], Array(4).fill(text))
})

test('an error shows the value that came: a short one whole, a long one cut or by its length', () => {
  const letters = 'a'.repeat(40)
  /** @type {[unknown, string][]} */
  const shown = [
    [undefined, 'undefined'],
    [null, 'null'],
    [false, 'false'],
    [-0, '-0'],
    [0.5, '0.5'],
    [letters, `"${letters}"`],
    [`${letters}b`, `"${letters}…"`],
    [10n ** 40n, `1${'0'.repeat(39)}…n`],
    [Symbol(letters), `Symbol(${'a'.repeat(33)}…`],
    [[], '[]'],
    [[1, 2, 3, 4, 5, 6, 7, 8], '[1, 2, 3, 4, 5, 6, 7, 8]'],
    [[1, 2, 3, 4, 5, 6, 7, 8, 9], 'an array of 9'],
    [[1, '2'], 'an array of 2'],
    [{}, 'an object'],
    [Object.create(null), 'an object'],
    [Object.create({ constructor: undefined }), 'an object'],
    [new Error(), 'an Error'],
    [new Map(), 'a Map'],
    [new (class {})(), 'an object'],
    [
      new (class {
        static name = 5
      })(),
      'an object',
    ],
    [function named() {}, 'function named'],
    [() => {}, 'function (anonymous)'],
    [
      class {
        static name = 5
      },
      'function (anonymous)',
    ],
  ]
  for (const [value, text] of shown) {
    assert.throws(() => new gpt.Sequential(value), {
      message: `Sequential: modules[0] should be a layer, got ${text}`,
    })
  }
})

test('an option or a field of a configuration that is undefined has its default', () => {
  assert.equal(new gpt.RMSNorm(4, { eps: undefined }).eps, new gpt.RMSNorm(4).eps)
  assert.equal(new gpt.FeedForward({ embDim: 4, hiddenDim: undefined }).hiddenDim, 16)
})

test('a tensor without elements may have sizes whose product, 0 counted as 1, is 2 ** 29 - 32', () => {
  assert.deepEqual(gpt.zeros([0, 2 ** 29 - 32]).shape, [0, 2 ** 29 - 32])
  assertRefuses(() => gpt.zeros([0, 2 ** 29 - 31]), 'MEMORY', /^zeros: needs 2147483524 bytes/)
})

test('a layer names a parameter that was disposed or replaced', () => {
  const layer = new gpt.Linear(5, 6)
  layer.bias.dispose()
  assertRefuses(
    () => layer.forward(x),
    'DISPOSED',
    /^Linear.forward: bias should be a live Tensor, got one that was disposed$/,
  )
  layer.bias = gpt.ones([5])
  assertRefuses(() => layer.forward(x), 'SHAPE', /^Linear.forward: bias should have shape \[6\], got \[5\]$/)
  layer.bias = 3
  assertRefuses(() => layer.forward(x), 'TYPE', /^Linear.forward: bias should be a Tensor, got 3$/)
})

test('what Node prints of an error has the name of the function once', () => {
  assert.throws(
    () => norm.forward(three),
    ({ message, stack }) => {
      assert.equal(stack.split('\n')[0], `GptLayersError: ${message}`)
      return /^LayerNorm.forward: x should/.test(message)
    },
  )
})

test('a GptLayersError is an Error with a name and a code', () => {
  const error = new GptLayersError('VALUE', 'why')
  assert.ok(error instanceof Error)
  assert.equal(String(error), 'GptLayersError: why')
  assert.equal(error.code, 'VALUE')
})

/**
 * What PyTorch takes as an argument and we as an option: the call, and how the error says to write it. Of
 * functions that PyTorch does not have, the option that a number, text or flag in this place likely means.
 *
 * @type {Record<string, [any, string][]>} by the names of TAKES_OBJECT
 */
const POSITIONAL = {
  load: [[2, '{ threads: 2 }']],
  'Tensor.toString': [[2, '{ precision: 2 }']],
  'Tensor.backward': [[true, '{ retainGraph: true }']],
  'Tensor.sum': [
    [-1, '{ dim: -1 }'],
    [[0, 1], '{ dim: [0, 1] }'],
  ],
  'Tensor.max': [[-1, '{ dim: -1 }']],
  'Tensor.min': [[0, '{ dim: 0 }']],
  'Tensor.argmax': [[-1, '{ dim: -1 }']],
  'Tensor.argmin': [[-1, '{ dim: -1 }']],
  'Tensor.std': [[-1, '{ dim: -1 }']],
  'Tensor.cumsum': [[0, '{ dim: 0 }']],
  'Tensor.topk': [[-1, '{ dim: -1 }']],
  'Tensor.gather': [[1, '{ dim: 1 }']],
  'Tensor.indexSelect': [[1, '{ dim: 1 }']],
  'Tensor.mean': [
    [-1, '{ dim: -1 }'],
    [[0, 1], '{ dim: [0, 1] }'],
  ],
  'Tensor.var': [
    [-1, '{ dim: -1 }'],
    [[0, 1], '{ dim: [0, 1] }'],
  ],
  'Tensor.slice': [[1, '{ dim: 1 }']],
  'Tensor.split': [[1, '{ dim: 1 }']],
  'Tensor.chunk': [[-1, '{ dim: -1 }']],
  'Tensor.tril': [[-1, '{ diagonal: -1 }']],
  'Tensor.triu': [[1, '{ diagonal: 1 }']],
  'Tensor.gelu': [['tanh', '{ approximate: "tanh" }']],
  'Tensor.clamp': [[0, '{ min: 0 }']],
  'Tensor.softmax': [[-1, '{ dim: -1 }']],
  'Tensor.logSoftmax': [[-1, '{ dim: -1 }']],
  'Tensor.logsumexp': [[-1, '{ dim: -1 }']],
  'Tensor.norm': [],
  cat: [[1, '{ dim: 1 }']],
  stack: [[0, '{ dim: 0 }']],
  multinomial: [[true, '{ replacement: true }']],
  allclose: [[1e-3, '{ rtol: 0.001 }']],
  'Module.quantize': [[64, '{ groupSize: 64 }']],
  'Module.loadStateDict': [],
  Linear: [[false, '{ bias: false }']],
  Conv1D: [],
  GELU: [['none', '{ approximate: "none" }']],
  'init.normal': [[0, '{ mean: 0 }']],
  'init.uniform': [[-1, '{ a: -1 }']],
  'init.xavierUniform': [[2, '{ gain: 2 }']],
  'init.xavierNormal': [[2, '{ gain: 2 }']],
  'init.kaimingUniform': [[2, '{ a: 2 }']],
  'init.kaimingNormal': [[2, '{ a: 2 }']],
  layerNorm: [[1e-3, '{ eps: 0.001 }']],
  rmsNorm: [[1e-3, '{ eps: 0.001 }']],
  dropout: [[0.1, '{ p: 0.1 }']],
  scaledDotProductAttention: [],
  LayerNorm: [[1e-3, '{ eps: 0.001 }']],
  BatchNorm: [[1e-3, '{ eps: 0.001 }']],
  RMSNorm: [[1e-3, '{ eps: 0.001 }']],
  Softmax: [[-1, '{ dim: -1 }']],
  'GPTModel.newCache': [[2, '{ batchSize: 2 }']],
  'GPTModel.generate': [[20, '{ maxNewTokens: 20 }']],
  'GPTModel.fromPretrained': [['int8', '{ dtype: "int8" }']],
  Adam: [[1e-3, '{ lr: 0.001 }']],
  AdamW: [[1e-3, '{ lr: 0.001 }']],
  SGD: [[0.1, '{ lr: 0.1 }']],
  cosineWithWarmup: [],
  clipGradNorm: [],
  crossEntropy: [],
  mse: [['sum', '{ reduction: "sum" }']],
  saveSafetensors: [],
}
/** These take a configuration, a context or a dict. */
const NO_OPTIONS = /^(FeedForward|Attention|TransformerBlock|GPTModel|Optimizer\.loadStateDict)$|\.forward$/

test('an argument of PyTorch’s in place of the options is answered with the option that PyTorch has there', async () => {
  assert.deepEqual(
    Object.keys(POSITIONAL).sort(),
    Object.keys(TAKES_OBJECT)
      .filter((name) => !NO_OPTIONS.test(name))
      .sort(),
  )
  for (const [name, cases] of Object.entries(POSITIONAL)) {
    for (const [value, option] of cases) {
      await assert.rejects(
        async () => TAKES_OBJECT[name](value),
        ({ message, code }) => {
          assert.equal(code, 'TYPE')
          assert.ok(
            message.endsWith(
              `options should be a plain object, got ${option.split(': ')[1].slice(0, -2)}; write ${option}`,
            ),
            message,
          )
          return true
        },
        name,
      )
    }
    // What fits no option gets no advice.
    for (const value of [null, 1n, x, new Map(), [x]]) {
      await assert.rejects(
        async () => TAKES_OBJECT[name](value),
        ({ message }) => !/write/.test(message),
        name,
      )
    }
  }
  assertRefuses(() => gpt.softmax(x, -1), 'TYPE', /^softmax: options .* got -1; write { dim: -1 }$/)
  assertRefuses(() => gpt.triu(x, 1), 'TYPE', /^triu: options .* got 1; write { diagonal: 1 }$/)
  assertRefuses(() => x.var(false), 'TYPE', /^var: options should be a plain object, got false$/)
})

test('numbers in place of an array, and arguments in place of several options, are answered with how they are written', () => {
  const targets = gpt.ones([2, 5])
  /** @type {[() => unknown, string][]} */
  const cases = [
    [() => gpt.zeros(2, 3), 'zeros: takes at most 1 argument, got 2: 2, 3; write zeros([2, 3])'],
    [() => gpt.ones(2, 3), 'ones: takes at most 1 argument, got 2: 2, 3; write ones([2, 3])'],
    [() => gpt.rand(2, 3), 'rand: takes at most 1 argument, got 2: 2, 3; write rand([2, 3])'],
    [() => gpt.randn(2, 3, 4), 'randn: takes at most 1 argument, got 3: 2, 3, 4; write randn([2, 3, 4])'],
    [() => x.view(1, 2), 'view: takes at most 1 argument, got 2: 1, 2; write view([1, 2])'],
    [() => x.reshape(5, -1), 'reshape: takes at most 1 argument, got 2: 5, -1; write reshape([5, -1])'],
    [
      () => x.expand(3, -1, -1),
      'expand: takes at most 1 argument, got 3: 3, -1, -1; write expand([3, -1, -1])',
    ],
    [() => x.permute(0, 2, 1), 'permute: takes at most 1 argument, got 3: 0, 2, 1; write permute([0, 2, 1])'],
    [
      () => gpt.permute(x, 1, 0),
      'permute: takes at most 2 arguments, got 3: a Tensor, 1, 0; write permute(x, [1, 0])',
    ],
    [
      () => x.mean(-1, true),
      'mean: takes at most 1 argument, got 2: -1, true; write { dim: -1, keepdim: true }',
    ],
    [
      () => gpt.sum(x, 0, true),
      'sum: takes at most 2 arguments, got 3: a Tensor, 0, true; write { dim: 0, keepdim: true }',
    ],
    [
      () => x.var(-1, false, true),
      'var: takes at most 1 argument, got 3: -1, false, true; write { dim: -1, unbiased: false, keepdim: true }',
    ],
    [() => x.clamp(0, 1), 'clamp: takes at most 1 argument, got 2: 0, 1; write { min: 0, max: 1 }'],
    [
      () => x.gather(1, targets),
      'gather: takes at most 1 argument, got 2: 1, a Tensor; write { dim: 1, index }',
    ],
    [
      () => x.topk(2, -1, false),
      'topk: takes at most 2 arguments, got 3: 2, -1, false; write { dim: -1, largest: false }',
    ],
    [
      () => gpt.init.normal(x, 0, 0.02),
      'init.normal: takes at most 2 arguments, got 3: a Tensor, 0, 0.02; write { mean: 0, std: 0.02 }',
    ],
    [
      () => new gpt.LayerNorm(6, 1e-6, false),
      'LayerNorm: takes at most 2 arguments, got 3: 6, 0.000001, false; write { eps: 0.000001, elementwiseAffine: false }',
    ],
    [
      () => new gpt.SGD([x], 0.1, 0.9),
      'SGD: takes at most 2 arguments, got 3: an array of 1, 0.1, 0.9; write { lr: 0.1, momentum: 0.9 }',
    ],
    [
      () => new gpt.AdamW([x], 1e-3, [0.9, 0.95]),
      'AdamW: takes at most 2 arguments, got 3: an array of 1, 0.001, [0.9, 0.95]; write { lr: 0.001, betas: [0.9, 0.95] }',
    ],
    // Nothing is known of these.
    [() => x.at(0, 1), 'at: takes at most 1 argument, got 2: 0, 1'],
    [() => x.view([1], 2), 'view: takes at most 1 argument, got 2: [1], 2'],
    [() => x.clamp(0, 1, 2), 'clamp: takes at most 1 argument, got 3: 0, 1, 2'],
    [() => x.softmax(-1, 2), 'softmax: takes at most 1 argument, got 2: -1, 2'],
  ]
  for (const [call, message] of cases) assert.throws(call, { message, code: 'TYPE' })
})
