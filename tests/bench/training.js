// A training step of FeedForward, compared with its forward pass in noGrad. onnxruntime-web does not train.

/** @import { Gpt } from '../lib/support.js' */
/** @import { Row, Settings } from './contest.js' */

import { race } from './measure.js'
import { DIM } from './operations.js'
import { selects } from './select.js'

const OPERATION = 'FeedForward, training'
const TOKENS = [128, 1024]

/**
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @returns {Promise<Row[]>}
 */
export async function training(gpt, { threads, effort, only }) {
  /** @type {Row[]} */
  const rows = []
  for (const tokens of TOKENS) {
    if (!selects(only, { operation: OPERATION, tokens, threads })) continue
    const layer = new gpt.FeedForward({ embDim: DIM })
    const [x, dy] = [gpt.parameter(gpt.randn([tokens, DIM])), gpt.randn([tokens, DIM])]
    const step = () => {
      gpt.scope(() => layer.forward(x).backward(dy))
      layer.zeroGrad()
      x.grad?.dispose()
      x.grad = null
    }
    const forward = () => gpt.scope(() => void gpt.noGrad(() => layer.forward(x)))
    const seconds = await race(
      Object.entries({ step, forward }).map(([name, call]) => ({ name, call })),
      effort,
    )
    for (const owned of [layer, x, dy]) owned.dispose()
    rows.push({
      operation: OPERATION,
      tokens,
      threads,
      build: gpt.build,
      ours: 1000 * seconds.step,
      ofForward: seconds.step / seconds.forward,
    })
  }
  return rows
}
