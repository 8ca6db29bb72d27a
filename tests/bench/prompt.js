// GPT-2 124M as a whole, of random weights: a prompt in one forward pass, without a peer.

/** @import { Limit } from './limits.js' */
/** @import { Row, Settings } from './contest.js' */

import { GPT_CONFIG_124M, load } from '../../dist/index.js'
import { race } from './measure.js'
import { gptFlops } from './operations.js'
import { selects } from './select.js'

const OPERATION = 'GPT-2 124M, prompt'
const TOKENS = 128
const CONFIG = { ...GPT_CONFIG_124M, qkvBias: true, tieWeights: true } // as GPT-2 has it

// A pass takes 0.6 s. The limit's samples are about as long, so that what else the machine does meets both.
const SAMPLE = 0.3
const ROUNDS = 10

/**
 * @param {{ build: string }} gpt
 * @param {Settings} settings
 * @param {Map<string, Limit>} limits
 * @returns {Promise<Row[]>}
 */
export async function prompt({ build }, { threads, effort, only }, limits) {
  if (!selects(only, { operation: OPERATION, tokens: TOKENS, threads })) return []
  const gpt = await load({ build, threads }) // one of its own, whose 0.65 GB go with it
  const model = new gpt.GPTModel(CONFIG).eval()
  const tokens = Int32Array.from({ length: TOKENS }, (_, i) => (i * 7919) % CONFIG.vocabSize) // all different
  const forward = () => {
    gpt.scope(() => {
      model.forward(tokens)
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
