// TensorFlow.js's WebAssembly backend. It has none of these operations as such, so each is said in those it
// has, the fastest way that was found.

/** @import { Task } from './operations.js' */
/** @import { Entrant } from './contest.js' */

import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-backend-wasm'
import { DIM, EPS, HEADS, HIDDEN } from './operations.js'
import { prepareTraining } from './tfjs-training.js'

const ROOT = 2 * Math.sqrt(2 / Math.PI)

const GELU = {
  // 0.5 (1 + tanh u) is sigmoid(2u): 0.7 ms at 128 tokens, where tanh takes 3.5 ms, and 10 ms with pow(x, 3)
  tanh: (x) => tf.mul(x, tf.sigmoid(tf.mul(x, tf.add(ROOT, tf.mul(0.044715 * ROOT, tf.square(x)))))),
  none: (x) => tf.mul(tf.mul(0.5, x), tf.add(1, tf.erf(tf.mul(Math.SQRT1_2, x)))),
}

const FUNCTIONS = {
  LayerNorm(x, { scale, shift }) {
    const { mean, variance } = tf.moments(x, -1, true)
    return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, EPS))), scale), shift)
  },
  GELU: (x, weights, approximate) => GELU[approximate](x),
  FeedForward(x, { weight1, bias1, weight2, bias2 }, approximate) {
    const hidden = tf.fused.matMul({ a: x, b: weight1, bias: bias1 })
    return tf.fused.matMul({ a: GELU[approximate](hidden), b: weight2, bias: bias2 })
  },
  Attention(x, { weight1, bias1, weight2, bias2, mask }) {
    const size = DIM / HEADS
    const qkv = tf.reshape(tf.fused.matMul({ a: x, b: weight1, bias: bias1 }), [-1, 3, HEADS, size])
    const [q, kTransposed, v] = tf
      .split(qkv, 3, 1)
      .map((t, i) => tf.transpose(tf.squeeze(t, [1]), i === 1 ? [1, 2, 0] : [1, 0, 2]))
    const scores = tf.add(tf.mul(tf.matMul(q, kTransposed), 1 / Math.sqrt(size)), mask)
    const heads = tf.transpose(tf.matMul(tf.softmax(scores), v), [1, 0, 2])
    return tf.fused.matMul({ a: tf.reshape(heads, [-1, DIM]), b: weight2, bias: bias2 })
  },
}

const SHAPES = {
  FeedForward: { weight1: [HIDDEN, DIM], weight2: [DIM, HIDDEN] },
  Attention: { weight1: [DIM, 3 * DIM], weight2: [DIM, DIM] },
}

function tensor(kind, name, values) {
  const matrix = tf.tensor(values, SHAPES[kind]?.[name])
  if (kind !== 'FeedForward' || matrix.rank < 2) return matrix
  // Transposed beforehand: with transposeB every call takes 13 times as long.
  const transposed = tf.transpose(matrix)
  matrix.dispose()
  return transposed
}

/** What is added to scores: nothing up to the diagonal, and above it what makes their weights 0. */
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

/** @param {Task} task */
function prepare(task) {
  const { kind, approximate, tokens, columns, x, weights } = task
  if (kind === 'Training') return prepareTraining(task)
  const input = tf.tensor(x, [tokens, columns])
  const entries = Object.entries(weights).map(([name, values]) => [name, tensor(kind, name, values)])
  const tensors = Object.fromEntries(entries)
  if (kind === 'Attention') tensors.mask = causal(tokens)
  const forward = () => FUNCTIONS[kind](input, tensors, approximate)
  return {
    call() {
      tf.tidy(() => {
        forward() // kernels have run when it returns; what is not returned is disposed
      })
    },
    result: () => tf.tidy(() => forward().dataSync()),
    dispose: () => tf.dispose([input, tensors]),
  }
}
