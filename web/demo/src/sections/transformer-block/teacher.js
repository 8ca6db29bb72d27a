// Trains the small GPT in a worker, so that the page stays responsive.

import { load } from 'gpt-layers'
import { expose } from '../../worker.js'
import { train } from './compute.js'

const REPORT_EVERY = 5 // steps

/** @typedef {{ step: number, loss: number, weights: Uint8Array }} Progress weights: as safetensors */

const lab = {
  /**
   * @param {{ seed: number, steps: number }} lesson
   * @param {(at: Progress) => unknown} onprogress
   */
  async teach({ seed, steps }, onprogress) {
    await train(await load(), seed, steps, ({ step, loss, model }) => {
      if (step % REPORT_EVERY === 0 || step === steps)
        return onprogress({ step, loss, weights: model.saveSafetensors() })
    })
  },
}
expose(lab)

/** @typedef {typeof lab} Lab */
