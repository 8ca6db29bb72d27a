// jax-js with its WebAssembly backend: a GPT's training step as one jitted function.

/** @import { Gpt } from '../lib/support.js' */
/** @import { Prepared } from './contest.js' */
/** @import { Model, Task } from './operations.js' */

import { EPS, LEARNING_RATE, LOSSES } from './operations.js'
import { trained } from './ours.js'

/** @typedef {any} JaxArray an array of jax-js */
/** @typedef {Record<string, JaxArray>} Arrays by the names of our state dict */

const [BETA1, BETA2, ADAM_EPS, WEIGHT_DECAY] = [0.9, 0.999, 1e-8, 0.01]

/**
 * @param {Gpt} gpt draws the weights with which training begins
 * @returns {Promise<{ note: string } | { name: string, rest: number, can: (kind: Task['kind']) => boolean,
 *   prepare: (task: Task) => Promise<Prepared> }>}
 */
export async function jaxjs(gpt) {
  // It calls map() on an iterator, which Node 20 has not.
  if (!('Iterator' in globalThis)) return { note: 'Not run: jax-js, which needs Node 22.' }
  const jax = await import('@jax-js/jax')
  await jax.init('wasm')
  jax.defaultDevice('wasm')
  const can = (/** @type {Task['kind']} */ kind) => kind === 'Training'
  return { name: 'jax-js', rest: 0, can, prepare: (task) => prepare(jax, gpt, task) }
}

/**
 * Each function of jax-js takes its arguments over: `.ref` keeps one.
 *
 * @param {typeof import('@jax-js/jax')} jax
 * @param {Gpt} gpt
 * @param {Task} task
 * @returns {Promise<Prepared>} result: the losses of the first steps
 */
async function prepare(jax, gpt, task) {
  // onnxruntime-web defines it in Node. jax-js takes it for a sign that its memory is shared, which it is not.
  Reflect.deleteProperty(globalThis, 'Worker')
  const { numpy: np, nn, tree } = jax
  const { model, config, shape, ...batch } = trained(gpt, task)
  const { vocabSize } = config
  const entries = Object.entries(model.stateDict()).map(([name, { data, shape }]) => {
    return /** @type {const} */ ([name, np.array(data.slice()).reshape([...shape])])
  })
  model.dispose()
  const loss = (/** @type {Arrays} */ p, /** @type {JaxArray} */ ids, /** @type {JaxArray} */ targets) => {
    const logProbabilities = nn.logSoftmax(logits(jax, p, ids, config, shape[0]), -1)
    return np.negative(np.mean(logProbabilities.mul(nn.oneHot(targets, vocabSize)).sum(-1)))
  }
  /** @param {Arrays} p @param {Arrays} m @param {Arrays} v @param {JaxArray} rate @param {JaxArray} correction */
  function adamw(p, m, v, rate, correction, /** @type {JaxArray} */ ids, /** @type {JaxArray} */ targets) {
    const [value, gradients] = jax.valueAndGrad(loss)(tree.ref(p), ids, targets)
    /** @type {{ p: Arrays, m: Arrays, v: Arrays }} */
    const next = { p: {}, m: {}, v: {} }
    for (const [name, gradient] of Object.entries(gradients)) {
      const mean = m[name].mul(BETA1).add(gradient.ref.mul(1 - BETA1))
      const square = v[name].mul(BETA2).add(np.square(gradient).mul(1 - BETA2))
      next.m[name] = mean.ref
      next.v[name] = square.ref
      const change = mean.mul(rate.ref).div(np.sqrt(square.mul(correction.ref)).add(ADAM_EPS))
      next.p[name] = p[name].mul(1 - LEARNING_RATE * WEIGHT_DECAY).sub(change)
    }
    rate.dispose()
    correction.dispose()
    return { value, next }
  }
  const compiled = jax.jit(adamw)
  const zeros = () => Object.fromEntries(entries.map(([name, { shape }]) => [name, np.zeros(shape)]))
  let state = { p: Object.fromEntries(entries), m: zeros(), v: zeros() }
  const [ids, targets] = [batch.ids, batch.targets].map((column) => np.array(Int32Array.from(column)))
  const rows = ids.reshape(shape)
  let steps = 0
  async function step() {
    steps++
    const rate = np.array(LEARNING_RATE / (1 - BETA1 ** steps))
    const correction = np.array(1 / (1 - BETA2 ** steps))
    const done = compiled(state.p, state.m, state.v, rate, correction, rows.ref, targets.ref)
    state = done.next
    const [value] = await done.value.data()
    await jax.blockUntilReady(state)
    return value
  }
  return {
    call: step,
    async result() {
      const losses = new Float32Array(LOSSES)
      for (let i = 0; i < LOSSES; i++) losses[i] = await step()
      return losses
    },
    dispose() {
      tree.dispose(state)
      rows.dispose()
      targets.dispose()
      compiled.dispose()
    },
  }
}

/**
 * The logits of a GPTModel, [tokens, vocabSize].
 *
 * @param {typeof import('@jax-js/jax')} jax
 * @param {Arrays} p
 * @param {JaxArray} ids [batch, contextLength]
 * @param {Model} config
 * @param {number} batch
 */
function logits({ numpy: np, nn }, p, ids, { contextLength, embDim, nHeads, nLayers }, batch) {
  const tokens = [batch * contextLength, embDim]
  const sequences = [batch, contextLength, embDim]
  const norm = (/** @type {JaxArray} */ x, /** @type {string} */ name) =>
    nn.standardize(x, -1, { epsilon: EPS }).mul(p[`${name}.scale`]).add(p[`${name}.shift`])
  let x = np.take(p['tok_emb.weight'].ref, ids, 0).add(p['pos_emb.weight'])
  for (let i = 0; i < nLayers; i++) {
    const block = `trf_blocks.${i}`
    const of = (/** @type {string} */ name) => p[`${block}.${name}`]
    const attended = norm(x.ref, `${block}.norm1`).reshape(tokens)
    const projected = np.matmul(attended, of('attn.c_attn.weight')).add(of('attn.c_attn.bias'))
    const [q, k, v] = np
      .split(projected.reshape([batch, contextLength, 3, embDim]), 3, 2)
      .map((/** @type {JaxArray} */ part) => part.reshape([batch, contextLength, nHeads, embDim / nHeads]))
    const heads = nn.dotProductAttention(q, k, v, { isCausal: true }).reshape(tokens)
    x = x.add(np.matmul(heads, of('attn.c_proj.weight')).add(of('attn.c_proj.bias')).reshape(sequences))
    const fed = norm(x.ref, `${block}.norm2`).reshape(tokens)
    const hidden = np.matmul(fed, of('ff.layers.0.weight').transpose()).add(of('ff.layers.0.bias'))
    const out = np.matmul(nn.gelu(hidden, { approximate: true }), of('ff.layers.2.weight').transpose())
    x = x.add(out.add(of('ff.layers.2.bias')).reshape(sequences))
  }
  return np.matmul(norm(x, 'final_norm').reshape(tokens), p['tok_emb.weight'].transpose())
}
