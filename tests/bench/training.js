// A training step of FeedForward, compared with its forward pass in evaluation mode. No peer trains it.

/** @import { Gpt } from '../../dist/index.js' */
/** @import { Row, Settings } from './contest.js' */

import { race } from './measure.js'
import { DIM } from './operations.js'
import { selects } from './select.js'

const OPERATION = 'FeedForward, training'
const TOKENS = [128, 1024]

/**
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @returns {Promise<Row[]>} rate: the time of a step divided by the time of the forward pass
 */
export async function training(gpt, { threads, effort, only }) {
  /** @type {Row[]} */
  const rows = []
  for (const tokens of TOKENS) {
    if (!selects(only, { operation: OPERATION, tokens, threads })) continue
    const [trained, evaluated] = [
      new gpt.FeedForward({ embDim: DIM }),
      new gpt.FeedForward({ embDim: DIM }).eval(),
    ]
    const [x, dy] = [gpt.randn([tokens, DIM]), gpt.randn([tokens, DIM])]
    const step = () => {
      gpt.scope(() => {
        trained.forward(x)
        trained.backward(dy)
      })
      trained.zeroGrad()
    }
    const forward = () => {
      gpt.scope(() => {
        evaluated.forward(x)
      })
    }
    const seconds = await race(
      Object.entries({ step, forward }).map(([name, call]) => ({ name, call })),
      effort,
    )
    for (const owned of [trained, evaluated, x, dy]) owned.dispose()
    rows.push({
      operation: OPERATION,
      tokens,
      threads,
      build: gpt.build,
      unit: 'ms',
      ours: 1000 * seconds.step,
      rate: { value: seconds.step / seconds.forward, unit: 'x fwd' },
    })
  }
  return rows
}
