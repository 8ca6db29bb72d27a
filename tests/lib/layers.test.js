// Every layer beside PyTorch's values and gradients, from tests/golden/layers.py: a new layer is a line there, and
// one here with its tolerances. Then what all layers of a kind promise.

/** @import { Tensor } from 'gpt-layers' */
/** @import { Packed } from './support.js' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LAYERS, OPTIMIZERS } from '../layers.js'
import {
  assertClose,
  assertNear,
  assertSame,
  backwardThrough,
  golden,
  gradientOf,
  loadForTest,
  pack,
  shake,
  untyped,
} from './support.js'

const { cases } = golden('layers')
const gpt = await loadForTest()

/** How far outputs, and gradients, may be from PyTorch's. @type {Record<string, [number, number]>} */
const TOLERANCES = {
  Linear: [1e-6, 2e-5],
  'Linear, wide': [1e-5, 2e-5],
  Conv1D: [1e-5, 2e-5],
  Embedding: [0, 1e-6],
  ReLU: [0, 2e-7],
  SiLU: [1e-6, 1e-6],
  Sigmoid: [1e-6, 1e-6],
  GELU: [1e-6, 1e-6],
  Softmax: [1e-6, 2e-5],
  LayerNorm: [5e-6, 2e-6],
  RMSNorm: [1e-6, 2e-5],
  BatchNorm: [5e-6, 2e-5],
  FeedForward: [1e-5, 2e-5],
  Attention: [1e-5, 2e-5],
  TransformerBlock: [1e-5, 2e-5],
  GPTModel: [2e-5, 2e-5],
}

/** @param {any} golden a case @returns {any} its layer, as tests/golden/layers.py makes it */
function layerOf({ layer: name, args, times, identities }) {
  gpt.manualSeed(1)
  const layer = shake(gpt, new (untyped(gpt)[name])(...args), times)
  for (const path of identities) {
    const [, block, norm] = /^trf_blocks\.(\d)\.(\w+)$/.exec(path) ?? []
    if (block) untyped(layer).trfBlocks[block][norm] = new gpt.Identity()
    else untyped(layer).finalNorm = new gpt.Identity()
  }
  return layer
}

/**
 * Asserts that `forward`, `backward` and the parameters' gradients are PyTorch's, as tests/golden/layers.py
 * writes them, and that a second backward adds the same gradients again. Of a large tensor PyTorch's first and
 * last row are compared.
 *
 * @param {any} layer with the case's parameters
 * @param {Tensor | number | unknown[]} x a tensor requires a gradient from here on
 * @param {Tensor} dy
 * @param {{ out: Packed, dx: Packed | null, grads: Record<string, Packed> }} expected
 * @param {{ forward?: number, backward?: number }} [tolerance] forward: for assertClose, 0 for the same bits;
 *   backward: for assertNear
 */
function assertGradients(layer, x, dy, { out, dx, grads }, { forward = 1e-5, backward = 2e-5 } = {}) {
  layer.zeroGrad()
  const leaf = /** @type {any} */ (x)
  if (dx) leaf.requiresGrad = true
  const y = layer.forward(x)
  if (forward === 0) assertSame(kept(y, out), out)
  else assertClose(kept(y, out), out, forward)
  y.backward(dy)
  if (dx) assertNear(kept(gradientOf(leaf), dx), dx, backward, 'dx')
  /** @type {[string, Tensor][]} */
  const parameters = layer.namedParameters()
  assert.deepEqual(parameters.map(([name]) => name).sort(), Object.keys(grads).sort())
  for (const [name, parameter] of parameters)
    assertNear(kept(gradientOf(parameter), grads[name]), grads[name], backward, name)
  const first = parameters.map(([, parameter]) => gradientOf(parameter).data.slice())
  layer.forward(x).backward(dy)
  parameters.forEach(([name, parameter], i) => {
    const twice = first[i].map((value) => 2 * value)
    assertNear(gradientOf(parameter), pack(twice, parameter.shape), 1e-6, `${name} after two passes`)
  })
  if (dx) leaf.grad = null
  layer.zeroGrad()
  assert.ok(parameters.every(([, { grad }]) => grad === null))
}

/** @param {Tensor} tensor @param {Packed} expected @returns {Tensor} its first and last row, if PyTorch's are that */
function kept(tensor, { shape }) {
  if (shape.reduce((product, n) => product * n, 1) === tensor.size) return tensor
  const rows = tensor.reshape([-1, shape[1]])
  return rows.indexSelect({ dim: 0, index: [0, rows.shape[0] - 1] })
}

for (const golden of cases) {
  const { layer: name, args, ids, shape, mean, deviation, identities } = golden
  const given = args.map((/** @type {unknown} */ one) => JSON.stringify(one)).join(', ')
  const from = ids ? '' : ` of [${shape}], mean ${mean}, deviation ${deviation}`
  const without = identities.length > 0 ? ` without ${identities.join(', ')}` : ''
  test(`${name}(${given})${from}${without}: values and gradients are PyTorch’s`, () => {
    const layer = layerOf(golden)
    /** @type {[string, Tensor][]} */
    const parameters = layer.namedParameters()
    if (golden.parameters) for (const [name, one] of parameters) assertSame(one, golden.parameters[name])
    const [forward, backward] = TOLERANCES[name === 'Linear' && args[0] > 65 ? 'Linear, wide' : name]
    const x = ids ?? gpt.randn(shape).mul(deviation).add(mean)
    const { weights } = golden.weights ? layer.forward(x, { returnWeights: true }) : golden
    const y = gpt.noGrad(() => layer.forward(x))
    assert.deepEqual(layer.forward(x).data, y.data, 'in noGrad')
    const dy = gpt.randn(y.shape)
    assertGradients(layer, x, dy, golden, { forward, backward })
    if (weights) assertClose(weights, golden.weights, 3e-6)
  })
}

test('an empty batch gives an empty batch, and gradients of zeros', () => {
  for (const [name, make] of Object.entries(LAYERS)) {
    const [layer, input] = make(gpt, { rows: 3, cols: 6, heads: 2 })
    if (Array.isArray(input) || /BatchNorm|Sequential/.test(name)) continue // indices; what needs two rows
    const without = (/** @type {number} */ dim) => gpt.stack([input, input]).slice(0, 0, { dim })
    for (const x of [input.slice(0, 0), without(0), without(1), without(-2)]) {
      const { shape } = layer.forward(x)
      assert.deepEqual(shape.slice(0, -1), x.shape.slice(0, -1), name)
      assert.deepEqual(backwardThrough(layer, x, gpt.zeros(shape)).shape, x.shape, name)
      for (const parameter of layer.parameters())
        assert.ok(
          gradientOf(parameter).data.every((value) => value === 0),
          name,
        )
    }
  }
})

test('a row gets the bits that it gets alone, on any number of threads', () => {
  for (const [layer, ...shape] of /** @type {[any, number, number][]} */ ([
    [new gpt.LayerNorm(97), 999, 97],
    [new gpt.LayerNorm(3), 65_537, 3], // NVIDIA/apex#411
    [new gpt.RMSNorm(97), 999, 97],
    [new gpt.Softmax(), 500, 97],
  ])) {
    const x = gpt.randn(shape)
    const y = layer.forward(x)
    for (let r = shape[0] - 1; r >= 0; r -= Math.ceil(shape[0] / 16))
      assert.deepEqual(layer.forward(x.at(r)).data.slice(), y.at(r).data.slice(), `row ${r} of ${layer}`)
  }
})

test('eps may be 0: a row without variance, or of zeros, is then NaN, PyTorch’s 0/0', () => {
  for (const [layer, row] of /** @type {[any, number[]][]} */ ([
    [new gpt.LayerNorm(2, { eps: 0 }), [3, 3]],
    [new gpt.RMSNorm(2, { eps: 0 }), [0, 0]],
  ])) {
    const y = layer.forward(gpt.tensor([[1, -1], [2 ** -24, -(2 ** -24)], row]))
    assert.deepEqual(y.toArray(), [
      [1, -1],
      [1, -1],
      [NaN, NaN],
    ])
  }
})

test('the table has every layer that the package exports, and each entry makes what it names', () => {
  /** @param {Function} Base @returns {string[]} the classes of the package that extend another one of it */
  const classesFrom = (Base) =>
    Object.keys(gpt)
      .filter((name) => untyped(gpt)[name]?.prototype instanceof Base)
      .sort()
  /** @param {Record<string, unknown>} table @returns {string[]} the names before a comma, each once */
  const namesIn = (table) => [...new Set(Object.keys(table).map((name) => name.split(',')[0]))].sort()
  const layers = classesFrom(gpt.Module).filter((name) => name !== 'ModuleList') // it has no forward
  assert.deepEqual(namesIn(LAYERS), layers)
  for (const [name, make] of Object.entries(LAYERS)) {
    const [layer] = make(gpt, { rows: 1, cols: 2, heads: 1 })
    assert.equal(layer.constructor.name, name.split(',')[0])
  }
  assert.deepEqual(namesIn(OPTIMIZERS), classesFrom(gpt.Optimizer))
  const compared = layers.filter((name) => !/^(Dropout|Identity|Sequential)$/.test(name))
  assert.deepEqual(namesIn(TOLERANCES), compared)
})
