// Trains two stacks from the same weights, one of them with layer norm, in a worker.

import { loadPackage } from '../../load.ts'
import { expose } from '../../remote.ts'
import { Stack } from './stack.ts'
import { isFinite, type Both, type Settings, type Snapshot } from './words.ts'

const loading = loadPackage()

class Trainee {
  readonly stack: Stack
  now: Snapshot

  constructor(stack: Stack) {
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

let both: Both<Trainee> | null = null

const lab = {
  /** @returns the losses before the first step */
  async begin(settings: Settings): Promise<Both<number>> {
    const gpt = await loading
    both?.without.stack.dispose()
    both?.with.stack.dispose()
    both = {
      without: new Trainee(new Stack(gpt, settings, { norm: false })),
      with: new Trainee(new Stack(gpt, settings, { norm: true })),
    }
    return { without: both.without.now.loss, with: both.with.now.loss }
  },

  /** Trains both by some steps. @returns the loss after each, and the last layer's deviation after them */
  steps(count: number): Both<{ losses: number[]; deviation: number }> {
    if (!both) throw new Error('begin comes first')
    const train = (one: Trainee) => ({
      losses: Array.from({ length: count }, () => one.next()),
      deviation: one.now.deviations[one.now.deviations.length - 1],
    })
    return { without: train(both.without), with: train(both.with) }
  },
}
expose(lab)

export type Lab = typeof lab
