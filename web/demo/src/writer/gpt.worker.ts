// The page's worker with a GPT: it writes texts, and answers what sections ask of the model.

import { proxy } from 'comlink'
import { loadPackage } from '../load.ts'
import { expose } from '../remote.ts'
import { nextWord } from '../sections/scale-and-shift/compute.ts'
import { loadStories, tokenizer } from '../stories.ts'
import type { EngineParts } from './engine.ts'
import type { Report } from './report.ts'
import { Text } from './text.ts'

/** A GPT: the stories', or one of a reader's files. nHeads: where no file says it. */
export type Source = { name: 'stories' } | FileSource
type FileSource = { name: 'file'; files: readonly File[]; nHeads?: number }

type OnProgress = (progress: { loaded: number; total: number }) => void

const LEAST = 1e-3 // the stories’ grammar chooses among at most 20 words

/** Does what takes long once; another time where it has failed. */
function once<T>(act: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | null = null
  return () => {
    const doing = (done ??= act())
    doing.catch(() => (done = null))
    return doing
  }
}

const packageOnce = once(loadPackage)
const storiesOnce = once(async (): Promise<EngineParts> => {
  await packageOnce()
  return { model: await loadStories(), tokenizer, least: LEAST }
})

/** The model of this worker. A reader's file gets another worker, with a package of its own. */
let parts = storiesOnce

const gpt = {
  /** Reads a reader's file; called once, and first. */
  async read({ files, nHeads }: FileSource, onProgress?: OnProgress) {
    const { loadFile } = await import('./file.ts')
    const read = await loadFile(files, { nHeads, onProgress })
    parts = async () => read
  },

  /** @param listen called with what there is to see of the text, at most once a frame */
  async text(listen: (report: Report) => unknown) {
    return proxy(new Text(await parts(), listen))
  },

  async nextWord(ids: number[], scale?: number) {
    return nextWord((await parts()).model, ids, scale)
  },
}
expose(gpt)

export type GptWorker = typeof gpt
