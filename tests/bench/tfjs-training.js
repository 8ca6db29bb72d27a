// A training step of SMALL_GPT in TensorFlow.js as it comes, on its WebAssembly backend; its CPU backend took 779 ms.
// With a gradient of matMul written by hand, whose transposes are made apart, it takes 39 ms instead of 88.

/** @import { Task } from './operations.js' */

import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-layers' // for the gradients, which the core has for bundlers only
import { ADAM, BATCH, EPS, LOSSES, SMALL_GPT, SMALL_GPT_SHAPES } from './operations.js'

const { vocabSize, embDim, nHeads, nLayers } = SMALL_GPT
const ROOT = 2 * Math.sqrt(2 / Math.PI)

const gelu = (x) => tf.mul(x, tf.sigmoid(tf.mul(x, tf.add(ROOT, tf.mul(0.044715 * ROOT, tf.square(x))))))

const flip = (x) => tf.transpose(x, x.rank === 2 ? [1, 0] : [0, 2, 1])

/** The mean over rows of the cross entropy. @param {any} targets one-hot */
const crossEntropy = (targets) =>
  tf.customGrad((logits, save) => {
    const softmax = tf.softmax(logits)
    save([softmax])
    const value = tf.neg(tf.mean(tf.sum(tf.mul(targets, tf.log(softmax)), -1)))
    const gradFunc = (dy, [softmax]) => tf.mul(tf.div(dy, logits.shape[0]), tf.sub(softmax, targets))
    return { value, gradFunc }
  })

/** @param {Task} task */
export function prepareTraining({ tokens, x, weights }) {
  const length = tokens / BATCH
  const parameters = Object.fromEntries(
    Object.entries(SMALL_GPT_SHAPES).map(([name, shape]) => [
      name,
      tf.variable(tf.tensor(weights[name], shape)),
    ]),
  )
  // One-hot, since the backend lacks the gradient of tf.gather.
  const [ids, targets] = [0, 1].map((odd) => {
    const tokens = x.filter((_, i) => i % 2 === odd)
    return tf.tidy(() => tf.cast(tf.oneHot(tf.tensor1d(tokens, 'int32'), vocabSize), 'float32'))
  })
  const mask = tf.tidy(() => tf.mul(-1e9, tf.sub(1, tf.linalg.bandPart(tf.ones([length, length]), -1, 0))))
  const cost = crossEntropy(targets)

  const norm = (x, name) => {
    const { mean, variance } = tf.moments(x, -1, true)
    const normed = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, EPS)))
    return tf.add(tf.mul(normed, parameters[`${name}.scale`]), parameters[`${name}.shift`])
  }
  const product = (x, weight, name) => tf.add(tf.matMul(x, weight), parameters[`${name}.bias`])
  const conv1d = (x, name) => product(x, parameters[`${name}.weight`], name)
  const linear = (x, name) => product(x, flip(parameters[`${name}.weight`]), name)
  const attention = (x, name) => {
    const size = embDim / nHeads
    const split = (t) => tf.transpose(tf.reshape(t, [BATCH, length, nHeads, size]), [0, 2, 1, 3])
    const qkv = tf.split(conv1d(x, `${name}.c_attn`), 3, 1)
    const [q, k, v] = qkv.map((t) => tf.reshape(split(t), [-1, length, size]))
    const scores = tf.add(tf.mul(tf.matMul(q, flip(k)), 1 / Math.sqrt(size)), mask)
    const heads = tf.reshape(tf.matMul(tf.softmax(scores), v), [BATCH, nHeads, length, size])
    return conv1d(tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), [tokens, embDim]), `${name}.c_proj`)
  }
  const feedForward = (x, name) => linear(gelu(linear(x, `${name}.layers.0`)), `${name}.layers.2`)
  const forward = () => {
    const embedded = tf.reshape(tf.matMul(ids, parameters['tok_emb.weight']), [BATCH, length, embDim])
    let x = tf.reshape(tf.add(embedded, parameters['pos_emb.weight']), [tokens, embDim])
    for (let i = 0; i < nLayers; i++) {
      const block = `trf_blocks.${i}`
      x = tf.add(x, attention(norm(x, `${block}.norm1`), `${block}.attn`))
      x = tf.add(x, feedForward(norm(x, `${block}.norm2`), `${block}.ff`))
    }
    return tf.matMul(norm(x, 'final_norm'), flip(parameters['tok_emb.weight']))
  }

  const optimizer = tf.train.adam(ADAM.lr, ...ADAM.betas, ADAM.eps)
  const step = () => tf.tidy(() => optimizer.minimize(() => cost(forward()), true).dataSync()[0])
  return {
    call: () => void step(),
    result: () => Float32Array.from({ length: LOSSES }, step),
    dispose() {
      optimizer.dispose()
      tf.dispose([parameters, ids, targets, mask])
    },
  }
}
