// gpt-layers as a contestant, through its public API.

/** @import { Attention, Build, FeedForward, GELU, LayerNorm, Tensor } from '../../dist/index.js' */
/** @import { Gpt } from '../lib/support.js' */
/** @import { Contestant, Prepared } from './contest.js' */
/** @import { Task } from './operations.js' */

import { DIM, EPS, HEADS, HIDDEN, LEARNING_RATE, LOSSES } from './operations.js'

/** @typedef {LayerNorm | GELU | FeedForward | Attention} Layer */
/** @typedef {{ build: Build, threads: number }} LoadOptions */

/** @typedef {Omit<Prepared, 'result'> & { result: () => Float32Array }} PreparedOurs */

/** The module that `./build.sh build` makes. */
export const OWN = new URL('../../dist/index.js', import.meta.url).href

export const BUILDS = /** @type {const} */ (['simd', 'relaxed'])

// A worker spins for up to 1 ms after a call before it sleeps. Without a pause it would take the second core
// from the next contestant.
const SPIN = 0.002

/** @param {number} threads @returns {number} seconds to wait after a sample */
export const restAfter = (threads) => (threads > 1 ? SPIN : 0)

// After a pause, Linux in a virtual machine wakes a thread on the core of its waker and takes up to 10 ms to
// move it to another core. Untimed calls of this duration wake the threads before each sample.
const AWAKE = 0.02

/** @param {number} threads @returns {number} seconds of untimed calls before a sample */
export const leadBefore = (threads) => (threads > 1 ? AWAKE : 0)

/** @type {Record<Exclude<Task['kind'], 'Training'>, (gpt: Gpt, task: Task) => Layer>} */
const LAYERS = {
  LayerNorm(gpt, { weights }) {
    const layer = new gpt.LayerNorm(DIM, { eps: EPS })
    layer.scale?.data.set(weights.scale)
    layer.shift?.data.set(weights.shift)
    return layer
  },
  GELU: (gpt, { approximate }) => new gpt.GELU({ approximate }),
  FeedForward(gpt, { weights, approximate }) {
    const layer = new gpt.FeedForward({ embDim: DIM, hiddenDim: HIDDEN, approximate })
    fill(layer.stateDict(), {
      'layers.0.weight': weights.weight1,
      'layers.0.bias': weights.bias1,
      'layers.2.weight': weights.weight2,
      'layers.2.bias': weights.bias2,
    })
    return layer
  },
  Attention(gpt, { weights, tokens }) {
    const layer = new gpt.Attention({ embDim: DIM, nHeads: HEADS, contextLength: tokens })
    fill(layer.stateDict(), {
      'c_attn.weight': weights.weight1,
      'c_attn.bias': weights.bias1,
      'c_proj.weight': weights.weight2,
      'c_proj.bias': weights.bias2,
    })
    return layer
  },
}

/**
 * @param {ReturnType<Layer['stateDict']>} state
 * @param {Record<string, Float32Array>} values
 */
function fill(state, values) {
  for (const [name, data] of Object.entries(values)) state[name].data.set(data)
}

/** How many copies of a package there are. */
let copies = 0

/**
 * Loads a copy of the package. Each copy has a runtime of its own, so that one process measures several builds.
 *
 * @param {LoadOptions} options
 * @param {string} [url] of another version's module
 * @returns {Promise<{ gpt: Gpt } | { note: string }>} a copy with exactly this build and this many threads, or
 *   the reason why there is none
 */
export async function open({ build, threads }, url = OWN) {
  const copy = await import(`${url}?${++copies}`)
  /** @type {Gpt} */
  let gpt
  try {
    // An older version's `load` returns the API; today the module itself is the API.
    gpt = (await copy.load({ build, threads })) ?? copy
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'UNSUPPORTED') throw error
    return { note: `${build}: ${error.message}` }
  }
  if (gpt.threads === threads) return { gpt }
  const note = `${build}: load({ threads: ${threads} }) gave ${gpt.threads}`
  gpt.dispose()
  return { note }
}

/** @param {Gpt} gpt @returns {Contestant} */
export const ours = (gpt) => ({
  name: gpt.build,
  rest: restAfter(gpt.threads),
  prepare: (task) => prepareForward(gpt, task),
})

/**
 * The forward pass without gradients; for the kind Training, a training step.
 *
 * @param {Gpt} gpt
 * @param {Task} task
 * @returns {PreparedOurs}
 */
export function prepareForward(gpt, task) {
  const { kind, x: values, tokens, columns } = task
  if (kind === 'Training') return prepareTraining(gpt, task)
  const layer = LAYERS[kind](gpt, task).eval()
  const x = gpt.tensor(values, [tokens, columns])
  const forward = () => layer.forward(x)
  return {
    call() {
      // The scope frees the output at once.
      gpt.scope(() => {
        gpt.noGrad(forward)
      })
    },
    result: () => gpt.scope(() => gpt.noGrad(forward).data.slice()),
    dispose() {
      layer.dispose()
      x.dispose()
    },
  }
}

/** @param {Float32Array[]} parts */
function concat(parts) {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/**
 * The forward pass of training, which keeps what the backward pass needs.
 *
 * @param {Gpt} gpt
 * @param {Task & { dy: Float32Array }} task dy: the gradient of the output
 * @param {{ withBackward: boolean }} options withBackward: whether the backward pass runs, too, which adds to
 *   the gradients of the parameters
 * @returns {PreparedOurs} result: dx, then each parameter's gradient
 */
export function prepareGradients(gpt, task, { withBackward }) {
  const { kind, x: values, dy: gradient, tokens, columns } = task
  if (kind === 'Training') throw new Error('a training step has no separate backward pass')
  const layer = LAYERS[kind](gpt, task)
  const [x, dy] = [values, gradient].map((data) => gpt.tensor(data, [tokens, columns]))
  gpt.parameter(x)
  const backward = () => {
    layer.forward(x).backward(dy)
    const dx = /** @type {Tensor} */ (x.grad)
    x.grad = null
    return dx
  }
  return {
    call() {
      gpt.scope(() => {
        if (withBackward) backward().dispose()
        else layer.forward(x)
      })
    },
    result() {
      layer.zeroGrad()
      const dx = gpt.scope(() => backward().data.slice())
      const gradients = layer.parameters().map(({ grad }) => grad?.data.slice() ?? new Float32Array())
      return concat([dx, ...gradients])
    },
    dispose() {
      layer.zeroGrad()
      for (const owned of [layer, x, dy]) owned.dispose()
    },
  }
}

/** The model that a task of the kind Training trains, and its batch. @param {Gpt} gpt @param {Task} task */
export function trained(gpt, { model: config, tokens, x }) {
  if (!config) throw new Error('a task of the kind Training should have a model')
  gpt.manualSeed(123)
  const column = (/** @type {number} */ j) => x.filter((_, i) => i % 2 === j)
  const shape = [tokens / config.contextLength, config.contextLength]
  return { model: new gpt.GPTModel(config), config, shape, ids: column(0), targets: column(1) }
}

/**
 * @param {Gpt} gpt
 * @param {Task} task
 * @returns {PreparedOurs} result: the losses of the first steps
 */
function prepareTraining(gpt, task) {
  const { model, shape, ...batch } = trained(gpt, task)
  const [ids, targets] = [batch.ids, batch.targets].map((column) => gpt.tensor(column, shape))
  const optimizer = new gpt.AdamW(model.parameters(), { lr: LEARNING_RATE })
  const step = () =>
    gpt.scope(() => {
      optimizer.zeroGrad()
      const loss = gpt.crossEntropy(model.forward(ids), targets)
      loss.backward()
      optimizer.step()
      return loss.item()
    })
  return {
    call: () => void step(),
    result: () => Float32Array.from({ length: LOSSES }, step),
    dispose() {
      optimizer.zeroGrad()
      for (const owned of [optimizer, model, ids, targets]) owned.dispose()
    },
  }
}
