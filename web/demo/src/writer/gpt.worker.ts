// The page's worker with a GPT: it writes texts, and answers what sections ask of the model.

import simd from 'gpt-layers/simd.wasm?url'
import { loadPackage } from '../load.ts'
import { expose, proxy } from '../remote.ts'
import { nextWord } from '../sections/scale-and-shift/compute.ts'
import { loadStories, tokenizer } from '../stories.ts'
import type { EngineParts } from './engine.ts'
import type { Report } from './report.ts'
import { Text } from './text.ts'

/** Does what takes long once; another time where it has failed. */
function once<T>(act: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | null = null
  return () => {
    const doing = (done ??= act())
    doing.catch(() => (done = null))
    return doing
  }
}

const packageOnce = once(() => loadPackage(simd))
const storiesOnce = once(async (): Promise<EngineParts> => {
  await packageOnce()
  return { model: await loadStories(), tokenizer }
})

const gpt = {
  /** @param listen called with each report of the engine */
  async text(listen: (report: Report) => unknown) {
    return proxy(new Text(await storiesOnce(), listen))
  },

  async nextWord(ids: number[], scale?: number) {
    return nextWord((await storiesOnce()).model, ids, scale)
  },
}
expose(gpt)

export type GptWorker = typeof gpt
