// Bad arguments: the error says which function, which argument, what was expected and what came, and nothing
// is changed or left behind.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { functionsOf, OPERATIONS, samplesOf } from '../fuzz/api.js'
import { fieldsOf, SIGNATURES } from '../fuzz/signatures.js'
import { LAYERS, TENSOR_OPERATIONS } from '../layers.js'
import { REFUSALS } from './refusals.js'
import { assertError, callOf, errorOf } from './rows.js'
import { assertRefuses, loadForTest, untyped, usedMemory } from './support.js'

const gpt = untyped(await loadForTest())

/** @type {Map<string, any>} */
const made = new Map()
/** @param {any} value @param {number[]} [shape] @returns {any} the same tensor whenever it is called */
const values = (value, shape) => {
  const key = inspect([value, shape])
  if (!made.has(key)) made.set(key, shape ? gpt.ones(shape) : gpt.tensor(value))
  return made.get(key)
}
/** @param {number[]} shape */
const of = (...shape) => values(1, shape)

const config = { vocabSize: 7, contextLength: 3, embDim: 6, nHeads: 2, nLayers: 1 }
const layers = {
  Embedding: new gpt.Embedding(7, 3),
  Linear: new gpt.Linear(6, 1),
  Conv1D: new gpt.Conv1D(1, 6),
  LayerNorm: new gpt.LayerNorm(6),
  LayerNorm2d: new gpt.LayerNorm([3, 5]),
  RMSNorm: new gpt.RMSNorm(6),
  BatchNorm: new gpt.BatchNorm(6),
  FeedForward: new gpt.FeedForward(config),
  Attention: new gpt.Attention(config),
  TransformerBlock: new gpt.TransformerBlock(config),
  Sequential: new gpt.Sequential(new gpt.Attention(config)),
  ReLU: new gpt.ReLU(),
  GPTModel: new gpt.GPTModel(config).eval(),
  int8: new gpt.Linear(2, 2).quantize(),
}
const gone = gpt.ones([1])
const closed = layers.GPTModel.newCache()
for (const one of [gone, closed]) one.dispose()
/** @type {unknown[]} */
const cyclic = []
cyclic.push(cyclic)
const sparse = [2, 0, 3]
delete sparse[1]
const transferred = new Float32Array(2)
structuredClone(transferred, { transfer: [transferred.buffer] })

const { var: _, default: __, ...exported } = gpt // no names of parameters
/** What a row may name. @type {Record<string, any>} */
const scope = {
  ...exported,
  ...{ of, values, config, layers, gone, closed, cyclic, sparse, transferred },
  deep: Array.from({ length: 20_000 }).reduce((inner) => [inner], 1),
  x: of(2, 5),
  q: of(2, 3, 4),
  total: of(2, 5).sum(),
  normed: layers.LayerNorm.forward(of(3, 6)),
  leaf: gpt.parameter(gpt.ones([2])),
  optimizer: new gpt.SGD([of(1)], { lr: 0.5 }),
  file: gpt.saveSafetensors(layers.GPTModel, { names: 'ours' }),
}

/** @type {Map<string, { text: string, code: string, message: string }[]>} by the function */
const refusals = new Map()
for (const row of REFUSALS.trim().split('\n')) {
  const [, names = '', call, code, message] =
    /^(?:((?:\w+ )*\w+): )?(.*) \/\/ ([A-Z]+) (.*)$/.exec(row) ?? assert.fail(row)
  for (const name of names.split(' ')) {
    const [text, expected] = [call, message].map((one) => one.replaceAll('%', name))
    const by = /^[\w.]+(?=: )|/.exec(expected)?.[0] || 'an operator'
    refusals.set(by, [...(refusals.get(by) ?? []), { text, code, message: expected }])
  }
}

for (const [name, rows] of refusals) {
  test(`${name} names a bad argument and says what it expects, and nothing is left`, async () => {
    for (const { text, code, message } of rows) {
      const call = callOf(text, scope)
      await Promise.resolve()
        .then(call)
        .catch(() => {}) // makes its tensors
      assertError(await errorOf(gpt, call, text), { code, message }, text)
    }
    assert.deepEqual([...of(2, 5).data, ...of(2, 3).data], Array(16).fill(1))
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
    const before = usedMemory(gpt)
    for (const [name, call] of Object.entries(calls)) {
      for (const [code, values] of Object.entries(wrong)) {
        for (const value of values) {
          const message = `${name} should be ${expected}, got ${inspect(value).replaceAll("'", '"')}`
          assert.throws(() => call(value), { code, message })
        }
      }
    }
    assert.equal(usedMemory(gpt), before)
  })
}

test('a layer names an x that does not end in its width, and an x that is no tensor', () => {
  /** @type {[string, any][]} */
  const wide = [
    ['inFeatures', layers.Linear],
    ['nx', layers.Conv1D],
    ['embDim', layers.LayerNorm],
    ['embDim', layers.RMSNorm],
    ['numFeatures', layers.BatchNorm],
    ['embDim', layers.FeedForward],
    ['embDim', layers.Attention],
  ]
  for (const [width, layer] of wide) {
    for (const input of [of(2, 5), of()]) {
      const message = `${layer.constructor.name}.forward: x should end in 6 (${width}), got shape [${input.shape.join(', ')}]`
      assert.throws(() => layer.forward(input), { code: 'SHAPE', message })
    }
  }
  for (const [name, make] of Object.entries(LAYERS)) {
    const [layer, input] = make(gpt, { rows: 3, cols: 4, heads: 2 })
    if (Array.isArray(input)) continue // it takes indices
    const message = `${name.split(',')[0]}.forward: x should be a Tensor, got`
    for (const [wrong, got] of /** @type {const} */ ([
      [1, '1'],
      [[1], '[1]'],
      [undefined, 'undefined'],
    ]))
      assertRefuses(() => layer.forward(wrong), 'TYPE', `${message} ${got}`)
  }
})

test('every operation refuses a tensor that was disposed', () => {
  const [x, y, z, first] = [gpt.ones([2, 3]), gpt.ones([2, 3]), gpt.ones([3, 2]), gpt.ones([2, 3])]
  first.dispose()
  const live =
    /^\w+: (the tensor should be live|(x|q|tensors\[0\]) should be a live Tensor), got one that was disposed$/
  for (const [name, operation] of Object.entries(TENSOR_OPERATIONS)) {
    if (name === 'embedding') continue // its first argument is no tensor
    assertRefuses(() => operation(first, y, z, gpt), 'DISPOSED', live)
  }
  for (const name of ['add', 'sub', 'mul', 'div', 'eq', 'matmul'])
    assertRefuses(
      () => x[name](first),
      'DISPOSED',
      `${name}: other should be a live Tensor, got one that was disposed`,
    )
  assertRefuses(
    () => x.maskedFill(first, 0),
    'DISPOSED',
    'maskedFill: mask should be a live Tensor, got one that was disposed',
  )
  for (const name of ['data', 'byteOffset'])
    assertRefuses(() => first[name], 'DISPOSED', 'the tensor should be live, got one that was disposed')
  for (const name of ['item', 'toArray', 'toString', 'toJSON'])
    assertRefuses(
      () => first[name](),
      'DISPOSED',
      `${name}: the tensor should be live, got one that was disposed`,
    )
})

test('an operation computes tensors without elements, with their gradients, or its arguments are refused', () => {
  for (const [name, operation] of Object.entries(TENSOR_OPERATIONS)) {
    for (const [rows, cols] of [0, 2].flatMap((rows) => [0, 3].map((cols) => [rows, cols]))) {
      gpt.scope(() => {
        const [x, y] = [1, 2].map(() => gpt.parameter(gpt.zeros([rows, cols])))
        try {
          const result = operation(x, y, gpt.zeros([cols, rows]), gpt)
          if (result.requiresGrad) result.backward(gpt.zeros(result.shape))
        } catch (error) {
          assert.match(untyped(error).code, /^(SHAPE|VALUE)$/, `${name} of [${rows}, ${cols}]: ${error}`)
        }
      })
    }
  }
})

test('each function that is a method, too, names itself and its tensor', () => {
  const both = Object.keys(gpt).filter((name) => name in gpt.Tensor.prototype && name !== 'dispose')
  assert.ok(both.length > 50)
  for (const name of both) {
    for (const [wrong, text] of [
      [undefined, 'undefined'],
      [[1, 2], '[1, 2]'],
    ])
      assert.throws(() => gpt[name](wrong), {
        code: 'TYPE',
        message: `${name}: x should be a Tensor, got ${text}`,
      })
    assertRefuses(
      () => gpt[name](gone),
      'DISPOSED',
      `${name}: x should be a live Tensor, got one that was disposed`,
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
    const limit = most === 0 ? 'no arguments' : `at most ${most} arguments?`
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
    assertRefuses(
      () => leaf.forward(of(2, 5), { dim: 0 }),
      'VALUE',
      `${leaf.constructor.name}.forward: context should have options among returnWeights, cache, lastOnly, got "dim"`,
    )
  }
  assertRefuses(() => gpt.dispose(1), 'TYPE', 'dispose: takes no arguments, got 1: 1')
  const { fromPretrained } = gpt.GPTModel
  const message = 'GPTModel.fromPretrained: takes at most 2 arguments, got 3: undefined, an object, 1'
  await assert.rejects(fromPretrained.call(gpt.GPTModel, undefined, {}, 1), { message, code: 'TYPE' })
  await assert.rejects(gpt.load({}, 1), {
    message: 'load: takes at most 1 argument, got 2: an object, 1',
  })
})

test('an argument too many is allowed where it is undefined', () => {
  assert.deepEqual(of(2, 5).sum(undefined, undefined).toArray(), 10)
  assert.equal(new gpt.ReLU(undefined).training, true)
})

/**
 * Each public function that takes an object of names and values, options or others. Methods stand after their
 * class and an object of it.
 */
const TAKE_OBJECTS = {
  functions: `load(given)|cat([x], given)|stack([x], given)|multinomial(x, 1, given)|allclose(x, x, given)|
    layerNorm(x, 5, null, null, given)|rmsNorm(x, 5, null, given)|dropout(x, given)|
    scaledDotProductAttention(x, x, x, given)|cosineWithWarmup(given)|
    clipGradNorm([x], 1, given)|crossEntropy(x, [0, 1], given)|mse(x, x, given)|saveSafetensors({}, given)`,
  'classes, new ': `Linear(1, 1, given)|Conv1D(1, 1, given)|GELU(given)|LayerNorm(1, given)|BatchNorm(1, given)|
    RMSNorm(1, given)|Softmax(given)|FeedForward(given)|Attention(given)|TransformerBlock(given)|
    GPTModel(given)|Adam([x], given)|AdamW([x], given)|SGD([x], given)`,
  'Tensor, x.': `toString(given)|sum(given)|max(given)|min(given)|argmax(given)|argmin(given)|std(given)|norm(given)|
    logsumexp(given)|cumsum(given)|topk(1, given)|gather(given)|indexSelect(given)|mean(given)|
    var(given)|slice(0, 1, given)|split(1, given)|chunk(1, given)|tril(given)|triu(given)|gelu(given)|
    clamp(given)|softmax(given)|logSoftmax(given)`,
  'Tensor, leaf.': 'backward(of(2), given)',
  'init, init.': `normal(x, given)|uniform(x, given)|xavierUniform(x, given)|xavierNormal(x, given)|
    kaimingUniform(x, given)|kaimingNormal(x, given)`,
  'Module, layers.ReLU.': 'quantize(given)|loadStateDict(given)',
  'Attention, layers.Attention.': 'forward(of(1, 6), given)',
  'TransformerBlock, layers.TransformerBlock.': 'forward(of(1, 6), given)',
  'Sequential, layers.Sequential.': 'forward(of(1, 6), given)',
  'GPTModel, layers.GPTModel.': 'forward([1], given)|newCache(given)|generate([1], given)',
  'GPTModel, GPTModel.': 'fromPretrained(file, given)',
  'Optimizer, optimizer.': 'loadStateDict(given)',
}

test('only plain objects of known names are options, and an error says which names and which one was meant', async () => {
  /** @type {Record<string, (given: any) => any>} by class and method */
  const calls = {}
  /** Their options, as the types have them. @type {Record<string, import('../fuzz/signatures.js').Parameter[]>} */
  const fields = {}
  for (const [by, list] of Object.entries(TAKE_OBJECTS)) {
    const [owner, receiver = ''] = by.split(', ')
    const kinds = { functions: 'gpt.', classes: 'new ', Tensor: 'tensor.', init: 'init.' }
    const kind = kinds[/** @type {keyof typeof kinds} */ (owner)] ?? 'module.'
    for (const text of list.split(/\|\s*/)) {
      const name = text.slice(0, text.indexOf('('))
      const key = /^[a-z]+s$/.test(owner) || owner === 'classes' ? name : `${owner}.${name}`
      calls[key] = (given) => callOf(receiver + text, { ...scope, given })()
      const { type = '' } = SIGNATURES.get(kind + name)?.find(({ name }) => name === 'options') ?? {}
      fields[key] = fieldsOf(type) ?? []
    }
  }
  const types = readFileSync(new URL('../../dist/index.d.ts', import.meta.url), 'utf8')
  const found = new Set()
  let owner = ''
  for (const line of types.split('\n')) {
    owner = /^declare (?:class|const) (\w+)/.exec(line)?.[1] ?? owner
    const method = /(\w+)(?:<.*>)?\(.*\b(?:options|config|context|dict)\??: /.exec(line)?.[1]
    if (!method) continue
    if (line.startsWith('declare function')) {
      const name = method === 'variance' ? 'var' : method // a reserved word
      found.add(name in gpt.Tensor.prototype ? `Tensor.${name}` : name) // an operation's method is tried
    } else found.add(method === 'constructor' ? owner : `${owner}.${method}`)
  }
  // Module.forward refuses every call.
  for (const apart of ['GptLayersError', 'Module.forward']) found.delete(apart)
  assert.deepEqual(Object.keys(calls).sort(), [...found].sort())

  class Config {
    embDim = 4
  }
  const { GPTModel: model } = layers
  const others = [
    ...[new Map([['dim', 0]]), new Set(['dim']), new Date(0), /x/, new Error('x'), new Config()],
    ...[Object.create({ dim: 0 }), Promise.resolve(), new Float32Array(2), [], model.newCache()],
    ...[Object(1), Config, true, 1, 'dim'],
  ]
  const unlike = [null, 1n, of(2, 5), [of(2, 5)], model] // they fit no option, so there is no advice
  others.push(...unlike)
  const before = usedMemory(gpt)
  /** @type {Record<string, RegExp>} */
  const kinds = { number: /^number/, boolean: /^boolean/, string: /^'|Reduction/ }
  let advised = 0
  for (const [name, call] of Object.entries(calls)) {
    for (const other of others) {
      const { code, message } = await errorOf(gpt, async () => call(other), name)
      assert.equal(code, 'TYPE', `${name}: ${message}`)
      assert.match(message, /^[\w.]+: (options|config|context|dict) should be a plain object, got ./)
      if (unlike.includes(other)) assert.doesNotMatch(message, /write/)
      const [, advice] = /; write \{ (\w+): /.exec(message) ?? []
      const meant = fields[name].find(({ type }) => kinds[typeof other]?.test(type))
      if (!advice || !meant) continue
      assert.equal(advice, meant.name, `${name}: ${message}`)
      advised++
    }
    const { message } = await errorOf(gpt, async () => call({ alpha: 2 }), name)
    const isDict = name.endsWith('loadStateDict') // no tensor of the layer, or no part of the optimizer
    const text = isDict ? /alpha/ : /^[\w.]+: \w+ should (?:be|have \w+) among (.+), got "alpha"$/
    const [, known = ''] = text.exec(message) ?? assert.fail(`${name}: ${message}`)
    const names = new Set(fields[name].map((field) => field.name))
    if (!isDict && names.size > 0) assert.deepEqual(new Set(known.split(', ')), names, message)
  }
  assert.ok(advised >= 57, `${advised} errors say how an option is written`)
  const message = 'GPTModel.fromPretrained: config should be a plain object, got a Map'
  await assert.rejects(async () => calls['GPTModel.fromPretrained']({ config: new Map() }), { message })
  assert.equal(usedMemory(gpt), before)
})
