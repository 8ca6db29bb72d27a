// Trains both networks in a worker.

import { load } from 'gpt-layers'
import { expose } from '../../remote.ts'
import { Training, type Pair, type Settings } from './compute.ts'

// The build that every browser has: it computes the same numbers everywhere, and training is chaotic.
const loading = load({ build: 'simd', threads: 1 })
let training: Training

const lab = {
  async begin(settings: Settings) {
    training = new Training(await loading, settings)
  },

  /** @returns the loss of each step */
  steps: (count: number): Pair<number>[] => Array.from({ length: count }, () => training.step()),

  answers: () => training.answers(),
}
expose(lab)

export type Lab = typeof lab
