// TensorFlow.js with its WebAssembly backend. It has none of these operations, so each is composed of its own
// ones, in the fastest way that was found.

/** @import { Task } from './operations.js' */
/** @import { Entrant, Prepared } from './contest.js' */

import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-backend-wasm'
import { DIM, EPS, HEADS, HIDDEN } from './operations.js'
import { prepareTraining } from './tfjs-training.js'

const ROOT = 2 * Math.sqrt(2 / Math.PI)

/** @typedef {tf.Tensor} Tensor */

/** @type {Record<'tanh' | 'none', (x: Tensor) => Tensor>} */
const GELU = {
  // 0.5 (1 + tanh u) = sigmoid(2u). At 128 tokens: sigmoid 0.7 ms, tanh 3.5 ms, tanh with pow(x, 3) 10 ms.
  tanh: (x) => tf.mul(x, tf.sigmoid(tf.mul(x, tf.add(ROOT, tf.mul(0.044715 * ROOT, tf.square(x)))))),
  none: (x) => tf.mul(tf.mul(0.5, x), tf.add(1, tf.erf(tf.mul(Math.SQRT1_2, x)))),
}

/** @param {Tensor} x @param {Tensor} weight @param {Tensor} bias @returns {Tensor} */
const matMul = (x, weight, bias) =>
  tf.fused.matMul({ a: /** @type {tf.Tensor2D} */ (x), b: /** @type {tf.Tensor2D} */ (weight), bias })

/** @typedef {Exclude<Task['kind'], 'Training'>} Kind */

/**
 * @type {Record<Kind, (x: Tensor, tensors: Record<string, Tensor>, approximate: 'tanh' | 'none') => Tensor>}
 */
const FUNCTIONS = {
  LayerNorm(x, { scale, shift }) {
    const { mean, variance } = tf.moments(x, -1, true)
    return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, EPS))), scale), shift)
  },
  GELU: (x, weights, approximate) => GELU[approximate](x),
  FeedForward(x, { weight1, bias1, weight2, bias2 }, approximate) {
    const hidden = matMul(x, weight1, bias1)
    return matMul(GELU[approximate](hidden), weight2, bias2)
  },
  Attention(x, { weight1, bias1, weight2, bias2, mask }) {
    const size = DIM / HEADS
    const qkv = tf.reshape(matMul(x, weight1, bias1), [-1, 3, HEADS, size])
    const [q, kTransposed, v] = tf
      .split(qkv, 3, 1)
      .map((t, i) => tf.transpose(tf.squeeze(t, [1]), i === 1 ? [1, 2, 0] : [1, 0, 2]))
    const scores = tf.add(tf.mul(tf.matMul(q, kTransposed), 1 / Math.sqrt(size)), mask)
    const heads = tf.transpose(tf.matMul(tf.softmax(scores), v), [1, 0, 2])
    return matMul(tf.reshape(heads, [-1, DIM]), weight2, bias2)
  },
}

/** @type {Partial<Record<Kind, Record<string, [number, number]>>>} */
const SHAPES = {
  FeedForward: { weight1: [HIDDEN, DIM], weight2: [DIM, HIDDEN] },
  Attention: { weight1: [DIM, 3 * DIM], weight2: [DIM, DIM] },
}

/** @param {Kind} kind @param {string} name @param {Float32Array} values @returns {Tensor} */
function tensor(kind, name, values) {
  /** @type {Tensor} */
  const matrix = tf.tensor(values, SHAPES[kind]?.[name])
  if (kind !== 'FeedForward' || matrix.rank < 2) return matrix
  // Transpose once, here: with transposeB every call takes 13 times as long.
  const transposed = tf.transpose(matrix)
  matrix.dispose()
  return transposed
}

/**
 * Added to the scores: 0 up to the diagonal, -1e9 above, which makes the weights there 0.
 *
 * @param {number} tokens
 */
const causal = (tokens) =>
  tf.tidy(() => tf.mul(-1e9, tf.sub(1, tf.linalg.bandPart(tf.ones([tokens, tokens]), -1, 0))))

/**
 * @param {number} threads
 * @returns {Promise<Entrant>}
 */
export async function tfjs(threads) {
  if (threads > 1) return { note: 'tfjs: its WebAssembly backend has no threads in Node' }
  await tf.setBackend('wasm')
  return { contestant: { name: 'tfjs', prepare, close() {} } }
}

/** @param {Task} task @returns {Prepared} */
function prepare(task) {
  const { kind, approximate = 'tanh', tokens, columns, x, weights } = task
  if (kind === 'Training') return prepareTraining(task)
  const input = tf.tensor(x, [tokens, columns])
  /** @type {Record<string, Tensor>} */
  const tensors = {}
  for (const [name, values] of Object.entries(weights)) tensors[name] = tensor(kind, name, values)
  if (kind === 'Attention') tensors.mask = causal(tokens)
  const forward = () => FUNCTIONS[kind](input, tensors, approximate)
  return {
    call() {
      tf.tidy(() => {
        forward() // Its kernels are synchronous. tidy disposes the result.
      })
    },
    result: () => tf.tidy(() => /** @type {Float32Array} */ (forward().dataSync())),
    dispose: () => tf.dispose([input, ...Object.values(tensors)]),
  }
}
