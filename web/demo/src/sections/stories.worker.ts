// The stories' GPT in a worker, and what the sections ask of it.

import { loadPackage } from '../load.ts'
import { expose } from '../remote.ts'
import { loadStories } from '../stories.ts'
import { nextWord } from './scale-and-shift/compute.ts'
import { pass } from './transformer-block/compute.ts'

const loading = loadPackage().then(loadStories)

const stories = {
  async nextWord(ids: number[], scale?: number) {
    return nextWord(await loading, ids, scale)
  },

  /** Of the model as it is, and of the same layers with the norms after the sums. */
  async passes(ids: number[]) {
    const model = await loading
    return { pre: pass(model, ids, 'pre'), post: pass(model, ids, 'post') }
  },
}
expose(stories)

export type StoriesWorker = typeof stories
