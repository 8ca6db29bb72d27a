// gpt-layers, through its public API.

/** @import { Gpt } from '../../lib/support.js' */
/** @import { Config } from './model.js' */
/** @import { WEIGHTS, Writer } from './steps.js' */

import { safetensors } from './model.js'
import { steps } from './steps.js'

/**
 * @param {Gpt} gpt
 * @param {Config} config
 * @param {typeof WEIGHTS.ours[number]} weights
 * @returns {Promise<Writer>} loaded as a user loads it, from a stream
 */
export async function openOurs(gpt, config, weights) {
  const dtype = weights === 'float32' ? 'float32' : 'int8'
  const model = await gpt.GPTModel.fromPretrained(streamOf(safetensors(config)), { dtype, config })
  model.eval()
  const cache = model.newCache({ dtype: weights === 'int8, cache too' ? 'int8' : 'float32' })
  return steps({
    forward: (ids) => gpt.scope(() => model.forward(ids, { cache, lastOnly: true }).data.slice()),
    truncate: (length) => cache.truncate(length),
  })
}

/** @param {Generator<Uint8Array<ArrayBuffer>>} pieces @returns {ReadableStream<Uint8Array<ArrayBuffer>>} */
function streamOf(pieces) {
  return new ReadableStream({
    pull(controller) {
      const { value, done } = pieces.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
}
