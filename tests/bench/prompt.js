// GPT-2 124M with random weights: a prompt in one forward pass. No peer takes part.

/** @import { Gpt } from '../../dist/index.js' */
/** @import { Limit } from './limits.js' */
/** @import { Row, Settings } from './contest.js' */

import { GPT_CONFIG_124M, load } from '../../dist/index.js'
import { race } from './measure.js'
import { gptFlops } from './operations.js'
import { selects } from './select.js'

const OPERATION = 'GPT-2 124M, prompt'
const TOKENS = 128
const CONFIG = { ...GPT_CONFIG_124M, qkvBias: true, tieWeights: true } // GPT-2's own settings

// A pass takes 0.6 s. Samples of the limit are about as long, so a disturbance meets both alike.
const SAMPLE = 0.3
const ROUNDS = 10

/**
 * @param {Gpt} gpt an instance of the build to measure
 * @param {Settings} settings
 * @param {Map<string, Limit>} limits
 * @returns {Promise<Row[]>}
 */
export async function prompt({ build }, { threads, effort, only }, limits) {
  if (!selects(only, { operation: OPERATION, tokens: TOKENS, threads })) return []
  const gpt = await load({ build, threads }) // Its own instance, so that dispose frees all 0.65 GB.
  const model = new gpt.GPTModel(CONFIG).eval()
  const tokens = Int32Array.from({ length: TOKENS }, (_, i) => (i * 7919) % CONFIG.vocabSize) // all different
  const compute = () => model.forward(tokens)
  const forward = () => {
    gpt.scope(() => {
      gpt.noGrad(compute)
    })
  }
  const limit = limits.get(`multiply-add ${build}`)
  const entries = [{ name: 'forward', call: forward }, ...(limit ? [limit] : [])]
  const seconds = await race(entries, { ...effort, sample: SAMPLE, rounds: Math.min(effort.rounds, ROUNDS) })
  gpt.dispose()
  return [
    {
      operation: OPERATION,
      tokens: TOKENS,
      threads,
      build,
      unit: 'ms',
      ours: 1000 * seconds.forward,
      rate: { value: gptFlops(CONFIG, 1, TOKENS) / seconds.forward / 1e9, unit: 'GFLOP/s' },
      limit: limit && { name: limit.name, value: limit.amount / seconds[limit.name] / 1e9 },
    },
  ]
}
