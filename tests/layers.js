// Every layer, loss, optimizer and operation of tensors, each with an input. The tests of high memory, of
// threads and of failing allocations, and the fuzzers, take them from here: a new one needs one line.

/** @import { Optimizer, Tensor } from 'gpt-layers' */
/** @import { Gpt } from './lib/support.js' */

import { computeOf } from '../build/lib/tensor/operation.js'
import * as operations from '../build/lib/tensor/operations.js'
import { untyped } from './lib/support.js'

/**
 * The sizes of a layer and of its input, which each test chooses.
 *
 * @typedef {object} Sizes
 * @property {number} rows rows, or tokens of a sequence
 * @property {number} cols columns, or the width of a token: a multiple of `heads`
 * @property {number} heads of attention
 */

const VOCABULARY = 37

/** @param {number} length @returns {number[]} */
const tokens = (length) => Array.from({ length }, (_, i) => (i * 7) % VOCABULARY)

/** @param {Sizes} sizes */
const configOf = ({ rows, cols, heads }) => ({
  embDim: cols,
  nHeads: heads,
  contextLength: rows,
  dropRate: 0.1,
})

/**
 * Layers by name. What comes after the class tells variants apart: `GELU, erf`.
 *
 * @type {Record<string, (gpt: Gpt, sizes: Sizes) => [layer: any, input: Tensor | number[]]>}
 */
export const LAYERS = {
  Linear: (gpt, { rows, cols }) => [new gpt.Linear(cols, cols + 1), gpt.randn([rows, cols])],
  Conv1D: (gpt, { rows, cols }) => [new gpt.Conv1D(cols + 1, cols), gpt.randn([rows, cols])],
  SiLU: (gpt, { rows, cols }) => [new gpt.SiLU(), gpt.randn([rows, 4 * cols])],
  Sigmoid: (gpt, { rows, cols }) => [new gpt.Sigmoid(), gpt.randn([rows, 4 * cols])],
  ReLU: (gpt, { rows, cols }) => [new gpt.ReLU(), gpt.randn([rows, 4 * cols])],
  'GELU, tanh': (gpt, { rows, cols }) => [new gpt.GELU(), gpt.randn([rows, 4 * cols])],
  'GELU, erf': (gpt, { rows, cols }) => [new gpt.GELU({ approximate: 'none' }), gpt.randn([rows, 4 * cols])],
  LayerNorm: (gpt, { rows, cols }) => [new gpt.LayerNorm(cols), gpt.randn([rows, cols])],
  'LayerNorm, without parameters': (gpt, { rows, cols }) => [
    new gpt.LayerNorm(cols, { elementwiseAffine: false }),
    gpt.randn([rows, cols]),
  ],
  BatchNorm: (gpt, { rows, cols }) => [new gpt.BatchNorm(cols), gpt.randn([rows + 1, cols])],
  RMSNorm: (gpt, { rows, cols }) => [new gpt.RMSNorm(cols), gpt.randn([rows, cols])],
  Dropout: (gpt, { rows, cols }) => [new gpt.Dropout(0.3), gpt.randn([rows, 4 * cols])],
  Identity: (gpt, { rows, cols }) => [new gpt.Identity(), gpt.randn([rows, cols])],
  Embedding: (gpt, { rows, cols }) => [new gpt.Embedding(VOCABULARY, cols), tokens(4 * rows)],
  Softmax: (gpt, { rows, cols }) => [new gpt.Softmax(), gpt.randn([rows, cols])],
  'Softmax, of columns': (gpt, { rows, cols }) => [new gpt.Softmax({ dim: 0 }), gpt.randn([rows, cols])],
  FeedForward: (gpt, { rows, cols }) => [new gpt.FeedForward({ embDim: cols }), gpt.randn([rows, cols])],
  Attention: (gpt, sizes) => [new gpt.Attention(configOf(sizes)), gpt.randn([2, sizes.rows, sizes.cols])],
  TransformerBlock: (gpt, sizes) => [
    new gpt.TransformerBlock(configOf(sizes)),
    gpt.randn([sizes.rows, sizes.cols]),
  ],
  Sequential: (gpt, { rows, cols }) => [
    new gpt.Sequential(new gpt.Linear(cols, cols), new gpt.BatchNorm(cols), new gpt.ReLU()),
    gpt.randn([rows + 1, cols]),
  ],
  GPTModel: (gpt, sizes) => [
    new gpt.GPTModel({ ...configOf(sizes), vocabSize: VOCABULARY, nLayers: 1, tieWeights: true }),
    tokens(sizes.rows),
  ],
}

/** @type {Record<string, (gpt: Gpt, x: Tensor) => Tensor>} losses of a matrix */
export const LOSSES = {
  crossEntropy: (gpt, x) => gpt.crossEntropy(x, new Array(x.shape[0]).fill(0)),
  mse: (gpt, x) => gpt.mse(x, gpt.zeros(x.shape)),
}

/** @type {Record<string, (gpt: Gpt, parameters: Tensor[]) => Optimizer>} */
export const OPTIMIZERS = {
  SGD: (gpt, parameters) => new gpt.SGD(parameters, { lr: 0.1, momentum: 0.9 }),
  Adam: (gpt, parameters) => new gpt.Adam(parameters, { lr: 0.1, weightDecay: 0.1 }),
  AdamW: (gpt, parameters) => new gpt.AdamW(parameters, { lr: 0.1 }),
}

/** The operations that take one tensor and nothing else. */
const UNARY = Object.entries(operations)
  .filter(([, operation]) => computeOf(operation).length === 1)
  .map(([name]) => name)

/**
 * Operations of positive matrices x and y of the same shape, and z, with as many rows as they have columns.
 *
 * @type {Record<string, (x: Tensor, y: Tensor, z: Tensor, gpt: Gpt) => Tensor>}
 */
export const TENSOR_OPERATIONS = {
  ...Object.fromEntries(
    UNARY.filter((name) => name !== 'detach') // it has no gradient
      .map((name) => [name, (x) => untyped(x)[name]()]),
  ),
  reshape: (x) => x.reshape([-1]),
  add: (x, y) => x.add(y),
  'add, a number': (x) => x.add(2),
  'add, a row': (x, y) => x.add(y.at(0)),
  sub: (x, y) => x.sub(y),
  mul: (x, y) => x.mul(y),
  div: (x, y) => x.div(y),
  pow: (x) => x.pow(1.5),
  sum: (x) => x.sum({ dim: 1 }),
  mean: (x) => x.mean({ dim: 0 }),
  'mean, of all': (x) => x.mean(),
  max: (x) => x.max({ dim: 0 }).values,
  'max, of all': (x) => x.max(),
  min: (x) => x.min({ dim: 1 }).values,
  'sum, of two axes': (x, y, _, gpt) => gpt.stack([x, y], { dim: 1 }).sum({ dim: [0, 2] }),
  std: (x) => x.std({ dim: 0 }),
  norm: (x) => x.norm({ dim: 0 }),
  logsumexp: (x) => x.logsumexp({ dim: [0, 1] }),
  cumsum: (x) => x.cumsum({ dim: 0 }),
  topk: (x) => x.topk(1, { dim: 0 }).values,
  gather: (x) => x.gather({ dim: 1, index: x.argmin({ dim: 1, keepdim: true }) }),
  indexSelect: (x) => x.indexSelect({ dim: 0, index: [0, 0] }),
  var: (x) => x.var({ dim: 0 }),
  matmul: (x, _, z) => x.matmul(z),
  permute: (x) => x.permute([1, 0]),
  transpose: (x) => x.transpose(0, 1),
  split: (x) => x.split(1)[0],
  slice: (x) => x.slice(0, 1),
  at: (x) => x.at(0),
  cat: (x, y, _, gpt) => gpt.cat([x, y, x], { dim: 1 }),
  stack: (x, y, _, gpt) => gpt.stack([x, y], { dim: -1 }),
  chunk: (x) => x.chunk(2, { dim: 1 })[1],
  unsqueeze: (x) => x.unsqueeze(0),
  squeeze: (x) => x.squeeze(),
  flatten: (x) => x.flatten(),
  view: (x) => x.view([-1, 1]),
  expand: (x) => x.unsqueeze(1).expand([-1, 2, -1]),
  softmax: (x) => x.softmax({ dim: 0 }),
  logSoftmax: (x) => x.logSoftmax({ dim: 0 }),
  where: (x, y, _, gpt) => gpt.where(x.gt(y), x, y.at(0)),
  ne: (x, y) => x.mul(x.ne(y)),
  maximum: (x, y, _, gpt) => gpt.maximum(x, y),
  minimum: (x, y, _, gpt) => gpt.minimum(x, y.at(0)),
  maskedFill: (x, y) => x.maskedFill(y.at(0).le(1), -1),
  tril: (x) => x.tril({ diagonal: -1 }),
  triu: (x) => x.triu(),
  gelu: (x) => x.gelu({ approximate: 'none' }),
  clamp: (x) => x.clamp({ max: 1 }),
  linear: (x, y, _, gpt) => gpt.linear(x, y),
  layerNorm: (x, y, _, gpt) => gpt.layerNorm(x, x.shape[1], y.at(0), x.at(0)),
  'layerNorm, without parameters': (x, _, __, gpt) => gpt.layerNorm(x, x.shape[1]),
  rmsNorm: (x, y, _, gpt) => gpt.rmsNorm(x, x.shape[1], y.at(0)),
  embedding: (x, _, __, gpt) => gpt.embedding([0, x.shape[0] - 1, 0], x),
  dropout: (x, _, __, gpt) => gpt.dropout(x, { p: 0.3 }),
  scaledDotProductAttention: (x, y, _, gpt) => gpt.scaledDotProductAttention(x, y, x),
  'scaledDotProductAttention, causal': (x, y, _, gpt) =>
    gpt.scaledDotProductAttention(x, y, x, { isCausal: true }),
}

/**
 * Runs a layer forward and backward, and once more in evaluation mode without the tape.
 *
 * @param {Gpt} gpt
 * @param {[layer: any, input: Tensor | number[]]} made by LAYERS
 * @returns {Record<string, Float32Array>} the outputs and the gradients
 */
export function resultsOf(gpt, [layer, input]) {
  const x = Array.isArray(input) ? input : gpt.parameter(input)
  const y = layer.forward(x)
  y.backward(gpt.randn(y.shape))
  const evaluated = gpt.noGrad(() => layer.eval().forward(input))
  layer.train()
  /** @type {[string, Tensor][]} */
  const parameters = layer.namedParameters()
  const results = [
    ['y', y],
    ['evaluated', evaluated],
    ...(Array.isArray(x) ? [] : [['dx', x.grad]]),
    ...parameters.map(([name, { grad }]) => [`gradient of ${name}`, grad]),
  ]
  return Object.fromEntries(results.map(([name, tensor]) => [name, tensor.data.slice()]))
}
