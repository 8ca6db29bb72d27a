// Trains two stacks from the same weights, one of them with layer norm, in a worker.

import { load } from 'gpt-layers'
import { expose } from '../../remote.js'
import { Stack } from './stack.js'
import { isFinite } from './words.js'

/** @import { Both, Settings } from './words.js' */

const loading = load()

class Trainee {
  /** @param {Stack} stack */
  constructor(stack) {
    this.stack = stack
    this.now = stack.measure()
  }

  /** The loss after one more step; what overflowed stays as it is. */
  next() {
    if (isFinite(this.now)) {
      this.stack.step()
      this.now = this.stack.measure()
    }
    return this.now.loss
  }
}

/** @type {Both<Trainee> | null} */ let both = null

const lab = {
  /** @param {Settings} settings @returns {Promise<Both<number>>} the losses before the first step */
  async begin(settings) {
    const gpt = await loading
    both?.without.stack.dispose()
    both?.with.stack.dispose()
    both = {
      without: new Trainee(new Stack(gpt, settings, { norm: false })),
      with: new Trainee(new Stack(gpt, settings, { norm: true })),
    }
    return { without: both.without.now.loss, with: both.with.now.loss }
  },

  /** Trains both by some steps. @param {number} count @returns {Both<number[]>} the loss after each */
  steps(count) {
    if (!both) throw new Error('begin comes first')
    const train = (/** @type {Trainee} */ one) => Array.from({ length: count }, () => one.next())
    return { without: train(both.without), with: train(both.with) }
  },
}
expose(lab)

/** @typedef {typeof lab} Lab */
