// gpt-layers, through its public API.

/** @import { Task } from './operations.js' */
/** @import { Entrant } from './contest.js' */

import { load } from '../../dist/index.js'
import { ADAM, BATCH, DIM, EPS, HEADS, HIDDEN, LOSSES, SMALL_GPT } from './operations.js'

export const BUILDS = ['simd', 'relaxed']

const LAYERS = {
  LayerNorm(gpt, { weights }) {
    const layer = new gpt.LayerNorm(DIM, { eps: EPS })
    layer.scale.data.set(weights.scale)
    layer.shift.data.set(weights.shift)
    return layer
  },
  GELU: (gpt, { approximate }) => new gpt.GELU({ approximate }),
  FeedForward(gpt, { weights, approximate }) {
    const layer = new gpt.FeedForward({ embDim: DIM, hiddenDim: HIDDEN, approximate })
    const [first, , second] = layer.layers
    first.weight.data.set(weights.weight1)
    first.bias.data.set(weights.bias1)
    second.weight.data.set(weights.weight2)
    second.bias.data.set(weights.bias2)
    return layer
  },
  Attention(gpt, { weights, tokens }) {
    const layer = new gpt.Attention({ embDim: DIM, nHeads: HEADS, contextLength: tokens })
    layer.cAttn.weight.data.set(weights.weight1)
    layer.cAttn.bias.data.set(weights.bias1)
    layer.cProj.weight.data.set(weights.weight2)
    layer.cProj.bias.data.set(weights.bias2)
    return layer
  },
}

// Its threads look for more work for up to 1 ms after a call, and would take the second core from whoever comes next.
const SPIN = 0.002

/**
 * @param {{ build: string, threads: number }} options
 * @returns {Promise<Entrant>}
 */
export async function ours({ build, threads }) {
  const gpt = await load({ build, threads }).catch((error) => {
    if (error.code !== 'UNSUPPORTED') throw error
    return { refusal: error.message }
  })
  if (gpt.refusal) return { note: `${build}: ${gpt.refusal}` }
  const close = () => gpt.dispose?.() // which an instance on one thread need not have
  if (gpt.threads !== threads) {
    close()
    return { note: `${build}: load({ threads: ${threads} }) settled for ${gpt.threads}` }
  }
  const rest = threads > 1 ? SPIN : 0
  return { gpt, contestant: { name: build, rest, prepare: (task) => prepare(gpt, task), close } }
}

/** @param {Task} task */
function prepare(gpt, task) {
  if (task.kind === 'Training') return prepareTraining(gpt, task)
  const layer = LAYERS[task.kind](gpt, task).eval()
  const x = gpt.tensor(task.x, [task.tokens, task.columns])
  return {
    call() {
      // in a scope, and nothing returned from it: what the call makes is freed
      gpt.scope(() => {
        layer.forward(x)
      })
    },
    result: () => gpt.scope(() => layer.forward(x).data.slice()),
    dispose() {
      layer.dispose()
      x.dispose()
    },
  }
}

/** @param {Task} task */
function prepareTraining(gpt, { tokens, x, weights }) {
  const model = new gpt.GPTModel(SMALL_GPT)
  const state = model.stateDict()
  for (const [name, values] of Object.entries(weights)) state[name].data.set(values)
  const shape = [BATCH, tokens / BATCH]
  const [ids, targets] = [0, 1].map((odd) =>
    gpt.tensor(
      x.filter((_, i) => i % 2 === odd),
      shape,
    ),
  )
  const optimizer = new gpt.AdamW(model.parameters(), ADAM)
  const step = () =>
    gpt.scope(() => {
      optimizer.zeroGrad()
      const loss = gpt.crossEntropy(model.forward(ids), targets)
      model.backward(loss.backward())
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
