// onnxruntime-web's WebAssembly provider, on models of one operation.

/** @import { Task } from './operations.js' */
/** @import { Entrant } from './contest.js' */

import { MICROSOFT, model, node, weight } from './onnx.js'
import { DIM, EPS, HEADS, HIDDEN } from './operations.js'

const MODELS = {
  LayerNorm: ({ weights }) => [
    node('LayerNormalization', ['x', 'scale', 'shift'], 'y', { epsilon: EPS }),
    weight('scale', [DIM], weights.scale),
    weight('shift', [DIM], weights.shift),
  ],
  GELU: ({ approximate }) => [node('Gelu', ['x'], 'y', { approximate })],
  // com.microsoft's FastGelu is the same speed
  FeedForward: ({ weights, approximate }) => [
    node('Gemm', ['x', 'weight1', 'bias1'], 'hidden', { transB: 1 }),
    node('Gelu', ['hidden'], 'activated', { approximate }),
    node('Gemm', ['activated', 'weight2', 'bias2'], 'y', { transB: 1 }),
    weight('weight1', [HIDDEN, DIM], weights.weight1),
    weight('bias1', [HIDDEN], weights.bias1),
    weight('weight2', [DIM, HIDDEN], weights.weight2),
    weight('bias2', [DIM], weights.bias2),
  ],
  // up to the heads it has an operator of its own, which takes a batch, as Gemm does not
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

// Its threads spin for 10 to 25 ms after a run, session.intra_op.allow_spinning or not, and take the second
// core from whoever comes next.
const SPIN = 0.03

/**
 * @param {any} ort the module, which is one file in Node and another in a browser
 * @param {number} threads for all of the process: onnxruntime-web can be told only once
 * @returns {Entrant}
 */
export function onnxruntime(ort, threads) {
  ort.env.wasm.numThreads = threads
  const rest = threads > 1 ? SPIN : 0
  const can = (/** @type {Task['kind']} */ kind) => kind in MODELS // it does not train
  return { contestant: { name: 'onnxruntime', rest, can, prepare: (task) => prepare(ort, task), close() {} } }
}

/** @param {any} ort @param {Task} task */
async function prepare(ort, task) {
  const shape = [...(task.kind === 'Attention' ? [1] : []), task.tokens, task.columns]
  const bytes = model(shape, ...MODELS[task.kind](task))
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] })
  const feeds = { x: new ort.Tensor('float32', task.x, shape) }
  return {
    call: () => session.run(feeds), // copies x in and y out: its API knows no other way
    result: async () => (await session.run(feeds)).y.data,
    dispose: () => session.release(),
  }
}
