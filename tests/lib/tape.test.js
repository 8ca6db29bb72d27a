/** @import { Gpt, Tensor } from 'gpt-layers' */
/** @import { Layer, Packed } from './support.js' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefuses, golden, gradientOf, loadForTest, unpack, untyped } from './support.js'

/**
 * A list of steps, as tests/golden/tape.py describes them.
 *
 * @typedef {{ seed: number, layers: string[], steps: string[], value: Packed, gradients: (Packed | null)[] }}
 *   Graph
 */

/** @type {{ operations: Graph[], graphs: Graph[] }} */
const { operations, graphs } = golden('tape')
const gpt = await loadForTest()

/** @type {Record<string, (gpt: Gpt, options: any) => Layer>} */
const LAYERS = {
  Linear: (gpt, { inputs, outputs }) => new gpt.Linear(inputs, outputs),
  Conv1D: (gpt, { inputs, outputs }) => new gpt.Conv1D(outputs, inputs),
  LayerNorm: (gpt, { size }) => new gpt.LayerNorm(size),
  RMSNorm: (gpt, { size }) => new gpt.RMSNorm(size),
  BatchNorm: (gpt, { size }) => new gpt.BatchNorm(size),
  Embedding: (gpt, { count, size }) => new gpt.Embedding(count, size),
  Attention: (gpt, { size, heads }) =>
    new gpt.Attention({ embDim: size, nHeads: heads, contextLength: 5, qkvBias: true }),
  FeedForward: (gpt, { size, hidden }) => new gpt.FeedForward({ embDim: size, hiddenDim: hidden }),
  GELU: (gpt) => new gpt.GELU(),
  Softmax: (gpt) => new gpt.Softmax(),
  ReLU: (gpt) => new gpt.ReLU(),
}

/** @type {(name: 'add' | 'sub' | 'mul' | 'div') => (inputs: Tensor[], options: any) => Tensor} */
const binary =
  (name) =>
  ([a, b], { number }) =>
    a[name](b ?? number)

/** @type {Record<string, (inputs: Tensor[], options: any) => Tensor | Tensor[]>} */
const OPERATIONS = {
  add: binary('add'),
  sub: binary('sub'),
  mul: binary('mul'),
  div: binary('div'),
  neg: ([x]) => x.neg(),
  pow: ([x], { exponent }) => x.pow(exponent),
  exp: ([x]) => x.exp(),
  log: ([x]) => x.log(),
  sqrt: ([x]) => x.sqrt(),
  abs: ([x]) => x.abs(),
  tanh: ([x]) => x.tanh(),
  sum: ([x], options) => x.sum(options),
  mean: ([x], options) => x.mean(options),
  var: ([x], options) => x.var(options),
  max: ([x], options) => (options.dim === undefined ? x.max(options) : x.max(options).values),
  matmul: ([a, b]) => a.matmul(b),
  permute: ([x], { dims }) => x.permute(dims),
  transpose: ([x], { dims: [a, b] }) => x.transpose(a, b),
  reshape: ([x], { shape }) => x.reshape(shape),
  at: ([x], { index }) => x.at(index),
  slice: ([x], { start, end, dim = 0 }) => x.slice(start, end, { dim }),
  split: ([x], { size, dim }) => x.split(size, { dim }),
  clone: ([x]) => x.clone(),
  detach: ([x]) => x.detach(),
}

/** @param {string} step */
function parse(step) {
  const [name, ...words] = step.split(' ')
  const isOption = (/** @type {string} */ word) => word.includes('=')
  const options = words.filter(isOption).map((word) => {
    const [key, value] = word.split('=')
    return [key, JSON.parse(value.replaceAll('NaN', 'null'), (_, read) => read ?? NaN)]
  })
  return {
    name,
    operands: words.filter((word) => !isOption(word)).map(Number),
    options: Object.fromEntries(options),
  }
}

/**
 * @param {Gpt} gpt
 * @param {Graph} graph
 * @returns {{ value: Tensor, leaves: Tensor[] }} after backward
 */
function run(gpt, { seed, layers: descriptions, steps }) {
  const layers = descriptions.map((text) => {
    const { name, options } = parse(text)
    const layer = LAYERS[name](gpt, options)
    return options.eval ? layer.eval() : layer
  })
  gpt.manualSeed(seed)
  const draw = (/** @type {readonly number[]} */ shape) => gpt.randn(shape)
  const fill = (/** @type {Tensor} */ tensor, /** @type {Tensor} */ values) => tensor.data.set(values.data)
  for (const layer of layers) {
    for (const parameter of layer.parameters()) fill(parameter, draw(parameter.shape).div(2))
    if (!(layer instanceof gpt.BatchNorm) || layer.training) continue
    fill(layer.runningMean, draw(layer.runningMean.shape).div(2))
    fill(layer.runningVar, draw(layer.runningVar.shape).abs().add(0.5))
  }
  /** @type {Tensor[]} */
  const values = []
  /** @type {Tensor[]} */
  const leaves = []
  for (const step of steps) {
    const { name, operands, options } = parse(step)
    const inputs = operands.map((i) => values[i])
    if (name === 'constant' || name === 'parameter') {
      const leaf = options.values ? gpt.tensor(options.values) : draw(options.shape)
      if (name === 'parameter') leaves.push(gpt.parameter(leaf))
      values.push(leaf)
    } else if (name in LAYERS) {
      values.push(untyped(layers[options.layer]).forward(options.tokens ?? inputs[0]))
    } else {
      values.push(...[OPERATIONS[name](inputs, options)].flat())
    }
  }
  const value = values[values.length - 1]
  value.backward(draw(value.shape))
  return { value, leaves: [...leaves, ...layers.flatMap((layer) => layer.parameters())] }
}

/**
 * Asserts that |x - expected| <= tolerance · scale(expected) for every element that is finite, and that the
 * others are the same.
 *
 * @param {Tensor} tensor
 * @param {Packed} packed
 * @param {number} tolerance
 * @param {(expected: number, largest: number) => number} scale
 * @param {string} name
 */
function assertWithin(tensor, packed, tolerance, scale, name) {
  assert.deepEqual(tensor.shape, packed.shape, name)
  const expected = unpack(packed)
  const largest = expected.reduce(
    (most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most),
    0,
  )
  tensor.data.forEach((value, i) => {
    const same = Object.is(value, expected[i]) || value === expected[i]
    const difference = Math.abs(value - expected[i])
    if (!same && !(difference <= tolerance * scale(expected[i], largest))) {
      assert.fail(
        `${name}: element ${i} of [${tensor.shape}]: expected ${expected[i]}, got ${value}; ${largest}`,
      )
    }
  })
}

/** @param {Graph} graph */
function assertGraph(graph) {
  const name = [...graph.layers, ...graph.steps].join('; ')
  gpt.scope(() => {
    const { value, leaves } = run(gpt, graph)
    assertWithin(value, graph.value, 2e-5, (x) => Math.max(1, Math.abs(x)), `value of ${name}`)
    assert.equal(leaves.length, graph.gradients.length)
    graph.gradients.forEach((expected, i) => {
      const what = `gradient ${i} of ${name}`
      if (expected === null) assert.equal(leaves[i].grad, null, what)
      else assertWithin(gradientOf(leaves[i]), expected, 2e-4, (_, largest) => largest, what)
    })
  })
}

test('every operation has PyTorch’s value and gradient, at odd shapes, zeros, infinities and NaN', () => {
  assert.ok(operations.length > 300)
  operations.forEach(assertGraph)
})

test('200 random graphs of operations and layers have PyTorch’s values and gradients', () => {
  assert.equal(graphs.length, 200)
  graphs.forEach(assertGraph)
})
