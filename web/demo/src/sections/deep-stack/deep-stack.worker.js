// Trains two stacks from the same weights, one of them with layer norm, in a worker.

import { load } from 'gpt-layers'
import { expose } from '../../worker.js'
import { Stack } from './stack.js'
import { isFinite } from './words.js'

/** @import { Moment, Settings } from './words.js' */

const loading = load()

/** @type {{ without: Stack, with: Stack } | null} */ let stacks = null
/** @type {Moment} */ let now

const lab = {
  /** @param {Settings} settings @returns {Promise<Moment>} before the first step */
  async begin(settings) {
    const gpt = await loading
    stacks?.without.dispose()
    stacks?.with.dispose()
    stacks = {
      without: new Stack(gpt, settings, { norm: false }),
      with: new Stack(gpt, settings, { norm: true }),
    }
    now = { without: stacks.without.measure(), with: stacks.with.measure() }
    return now
  },

  /** Trains both by one step; what overflowed stays as it is. @returns {Moment} after it */
  step() {
    if (!stacks) throw new Error('begin comes first')
    now = { without: next(stacks.without, now.without), with: next(stacks.with, now.with) }
    return now
  },
}
expose(lab)

/** @typedef {typeof lab} Lab */

/** @param {Stack} stack @param {Moment['with']} before */
function next(stack, before) {
  if (!isFinite(before)) return before
  stack.step()
  return stack.measure()
}
