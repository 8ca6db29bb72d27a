// A training step of SMALL_GPT in TensorFlow.js.
//
// | variant | time of a step |
// | --- | --- |
// | WebAssembly backend, measured here | 88 ms |
// | the same with a handwritten gradient of matMul that transposes separately | 39 ms |
// | CPU backend | 779 ms |

/** @import { Prepared } from './contest.js' */
/** @import { Task } from './operations.js' */

import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-layers' // It registers the gradients, which the core offers only to bundlers.
import { ADAM, BATCH, EPS, LOSSES, SMALL_GPT, SMALL_GPT_SHAPES } from './operations.js'

const { vocabSize, embDim, nHeads, nLayers } = SMALL_GPT
const ROOT = 2 * Math.sqrt(2 / Math.PI)

/** @typedef {tf.Tensor} Tensor */

const gelu = (/** @type {Tensor} */ x) =>
  tf.mul(x, tf.sigmoid(tf.mul(x, tf.add(ROOT, tf.mul(0.044715 * ROOT, tf.square(x))))))

const transpose = (/** @type {Tensor} */ x) => tf.transpose(x, x.rank === 2 ? [1, 0] : [0, 2, 1])

/**
 * The mean of the cross entropy over rows.
 *
 * @param {Tensor} targets one-hot
 * @returns {(logits: Tensor) => tf.Scalar}
 */
const crossEntropy = (targets) => {
  const differentiable = tf.customGrad((...inputs) => {
    const [logits, save] = /** @type {[Tensor, tf.GradSaveFunc]} */ (inputs)
    const softmax = tf.softmax(logits)
    save([softmax])
    const value = tf.neg(tf.mean(tf.sum(tf.mul(targets, tf.log(softmax)), -1)))
    const gradFunc = (/** @type {Tensor} */ dy, /** @type {Tensor[]} */ [softmax]) =>
      tf.mul(tf.div(dy, logits.shape[0]), tf.sub(softmax, targets))
    return { value, gradFunc }
  })
  return (logits) => /** @type {tf.Scalar} */ (differentiable(logits))
}

/** @param {Task} task @returns {Prepared} */
export function prepareTraining({ tokens, x, weights }) {
  const length = tokens / BATCH
  const parameters = Object.fromEntries(
    Object.entries(SMALL_GPT_SHAPES).map(([name, shape]) => [
      name,
      tf.variable(tf.tensor(weights[name], shape)),
    ]),
  )
  // One-hot, because the backend has no gradient of tf.gather.
  const [ids, targets] = [0, 1].map((odd) => {
    const tokens = x.filter((_, i) => i % 2 === odd)
    return tf.tidy(() => tf.cast(tf.oneHot(tf.tensor1d(tokens, 'int32'), vocabSize), 'float32'))
  })
  const mask = tf.tidy(() => tf.mul(-1e9, tf.sub(1, tf.linalg.bandPart(tf.ones([length, length]), -1, 0))))
  const cost = crossEntropy(targets)

  /** @typedef {(x: Tensor, name: string) => Tensor} Layer */

  /** @type {Layer} */
  const norm = (x, name) => {
    const { mean, variance } = tf.moments(x, -1, true)
    const normed = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, EPS)))
    return tf.add(tf.mul(normed, parameters[`${name}.scale`]), parameters[`${name}.shift`])
  }
  /** @param {Tensor} x @param {Tensor} weight @param {string} name @returns {Tensor} */
  const product = (x, weight, name) => tf.add(tf.matMul(x, weight), parameters[`${name}.bias`])
  /** @type {Layer} */
  const conv1d = (x, name) => product(x, parameters[`${name}.weight`], name)
  /** @type {Layer} */
  const linear = (x, name) => product(x, transpose(parameters[`${name}.weight`]), name)
  /** @type {Layer} */
  const attention = (x, name) => {
    const size = embDim / nHeads
    const split = (/** @type {Tensor} */ t) =>
      tf.transpose(tf.reshape(t, [BATCH, length, nHeads, size]), [0, 2, 1, 3])
    const qkv = tf.split(conv1d(x, `${name}.c_attn`), 3, 1)
    const [q, k, v] = qkv.map((t) => tf.reshape(split(t), [-1, length, size]))
    const scores = tf.add(tf.mul(tf.matMul(q, transpose(k)), 1 / Math.sqrt(size)), mask)
    const heads = tf.reshape(tf.matMul(tf.softmax(scores), v), [BATCH, nHeads, length, size])
    return conv1d(tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), [tokens, embDim]), `${name}.c_proj`)
  }
  /** @type {Layer} */
  const feedForward = (x, name) => linear(gelu(linear(x, `${name}.layers.0`)), `${name}.layers.2`)
  const forward = () => {
    const embedded = tf.reshape(tf.matMul(ids, parameters['tok_emb.weight']), [BATCH, length, embDim])
    /** @type {Tensor} */
    let x = tf.reshape(tf.add(embedded, parameters['pos_emb.weight']), [tokens, embDim])
    for (let i = 0; i < nLayers; i++) {
      const block = `trf_blocks.${i}`
      x = tf.add(x, attention(norm(x, `${block}.norm1`), `${block}.attn`))
      x = tf.add(x, feedForward(norm(x, `${block}.norm2`), `${block}.ff`))
    }
    return tf.matMul(norm(x, 'final_norm'), transpose(parameters['tok_emb.weight']))
  }

  const optimizer = tf.train.adam(ADAM.lr, ...ADAM.betas, ADAM.eps)
  const step = () =>
    tf.tidy(() => /** @type {tf.Scalar} */ (optimizer.minimize(() => cost(forward()), true)).dataSync()[0])
  return {
    call: () => void step(),
    result: () => Float32Array.from({ length: LOSSES }, step),
    dispose() {
      optimizer.dispose()
      tf.dispose([...Object.values(parameters), ids, targets, mask])
    },
  }
}
