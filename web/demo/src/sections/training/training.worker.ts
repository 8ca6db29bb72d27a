// Trains both networks in a worker.

import simd from 'gpt-layers/simd.wasm?url'
import { loadPackage } from '../../load.ts'
import { expose } from '../../remote.ts'
import { Training, type Pair, type Settings } from './compute.ts'

const loading = loadPackage(simd)
let training: Training

const lab = {
  async begin(settings: Settings) {
    await loading
    training = new Training(settings)
  },

  /** @returns the loss of each step */
  steps: (count: number): Pair<number>[] => Array.from({ length: count }, () => training.step()),

  answers: () => training.answers(),
}
expose(lab)

export type Lab = typeof lab
