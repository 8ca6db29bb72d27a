// onnxruntime-web with its WebAssembly provider, on models of one operation each.

/** @import { Task } from './operations.js' */
/** @import { Prepared } from './contest.js' */
/** @import { Part } from './onnx.js' */

import * as ort from 'onnxruntime-web'
import { MICROSOFT, model, node, weight } from './onnx.js'
import { DIM, EPS, HEADS, HIDDEN } from './operations.js'

/** @type {Partial<Record<Task['kind'], (task: Task) => Part[]>>} */
const MODELS = {
  LayerNorm: ({ weights }) => [
    node('LayerNormalization', ['x', 'scale', 'shift'], 'y', { epsilon: EPS }),
    weight('scale', [DIM], weights.scale),
    weight('shift', [DIM], weights.shift),
  ],
  // com.microsoft's FastGelu has the same speed.
  GELU: ({ approximate = 'tanh' }) => [node('Gelu', ['x'], 'y', { approximate })],
  FeedForward: ({ weights, approximate = 'tanh' }) => [
    node('Gemm', ['x', 'weight1', 'bias1'], 'hidden', { transB: 1 }),
    node('Gelu', ['hidden'], 'activated', { approximate }),
    node('Gemm', ['activated', 'weight2', 'bias2'], 'y', { transB: 1 }),
    weight('weight1', [HIDDEN, DIM], weights.weight1),
    weight('bias1', [HIDDEN], weights.bias1),
    weight('weight2', [DIM, HIDDEN], weights.weight2),
    weight('bias2', [DIM], weights.bias2),
  ],
  // com.microsoft's Attention computes the heads. It needs a batch axis, so the projection is MatMul, not
  // Gemm.
  Attention: ({ weights }) => [
    node('Attention', ['x', 'weight1', 'bias1'], 'heads', { num_heads: HEADS, unidirectional: 1 }, MICROSOFT),
    node('MatMul', ['heads', 'weight2'], 'projected'),
    node('Add', ['projected', 'bias2'], 'y'),
    weight('weight1', [DIM, 3 * DIM], weights.weight1),
    weight('bias1', [3 * DIM], weights.bias1),
    weight('weight2', [DIM, DIM], weights.weight2),
    weight('bias2', [DIM], weights.bias2),
  ],
}

// Its threads spin for 10 to 25 ms after a run, whatever session.intra_op.allow_spinning is. Without a pause
// they would take the second core from the next contestant.
const SPIN = 0.03

/** @param {number} threads @returns {number} seconds to wait after a sample */
export const restAfter = (threads) => (threads > 1 ? SPIN : 0)

/** @param {number} threads the threads of the whole process: onnxruntime-web takes the number only once */
export function onnxruntime(threads) {
  ort.env.wasm.numThreads = threads
  const can = (/** @type {Task['kind']} */ kind) => kind in MODELS
  return { name: 'onnxruntime', rest: restAfter(threads), can, prepare }
}

/** @param {Task} task @returns {Promise<Prepared>} */
async function prepare(task) {
  const shape = [...(task.kind === 'Attention' ? [1] : []), task.tokens, task.columns]
  const parts = MODELS[task.kind]
  if (!parts) throw new Error(`onnxruntime-web has no ${task.kind}`)
  const bytes = model({ inputs: [{ name: 'x', shape }], outputs: [{ name: 'y', shape }], parts: parts(task) })
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] })
  const feeds = { x: new ort.Tensor('float32', task.x, shape) }
  return {
    call: () => session.run(feeds), // Its API always copies x in and y out.
    result: async () => /** @type {Float32Array} */ ((await session.run(feeds)).y.data),
    dispose: () => session.release(),
  }
}
