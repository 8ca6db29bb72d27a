// The worker in which a GPT writes. It writes at its own pace and reports at most once a frame, and only when
// the page has taken the last report: the text never waits for drawing.

import { loadPackage } from '../load.ts'
import { loadStories, tokenizer } from '../stories.ts'
import { expose } from '../remote.ts'
import { Engine, type EngineParts, type Settings } from './engine.ts'
import { snapshot, type Report } from './report.ts'
import { tokensOf } from './tokens.ts'

/** A model to write with: the stories', or one of a reader's files. nHeads: where no file says it. */
export type Source = { name: 'stories' } | { name: 'file'; files: readonly File[]; nHeads?: number }

type OnProgress = (progress: { loaded: number; total: number }) => void

const FRAME = 16 // milliseconds
const PACE = 125 // milliseconds from one token to the next
const LEAST = 1e-3 // the stories’ grammar chooses among at most 20 words
const REST = 4000 // milliseconds between the end of a text and the next one

async function loadModel(source: Source, onProgress?: OnProgress): Promise<EngineParts> {
  if (source.name === 'file') {
    const { loadFile } = await import('./file.ts')
    return loadFile(source.files, { nHeads: source.nHeads, onProgress })
  }
  await loadPackage()
  return { model: await loadStories(), tokenizer, least: LEAST }
}

let engine: Engine | null = null
let listener: (report: Report) => unknown = () => undefined
let playing = false
let timer: ReturnType<typeof setTimeout> | undefined
let posting = false
let changed = false

const sleep = (milliseconds: number) => new Promise((wake) => setTimeout(wake, milliseconds))

async function report() {
  changed = true
  if (posting) return
  posting = true
  // A new engine has nothing to show before its first `set`.
  while (changed && engine?.with.step) {
    changed = false
    const begun = performance.now()
    await listener(snapshot(engine))
    await sleep(Math.max(0, FRAME - (performance.now() - begun)))
  }
  posting = false
}

/** Writes a token, and sees to the next one. @param due when it should be written */
function write(due: number) {
  if (!engine || !playing) return
  const now = performance.now()
  if (engine.ended) {
    const { settings } = engine
    engine.set({ ...settings, seed: (settings.seed + 1) % 2 ** 32, from: 0 })
  } else engine.step()
  report()
  const next = Math.max(now, due + (engine.ended ? REST : PACE))
  timer = setTimeout(() => write(next), next - performance.now())
}

function current(): Engine {
  if (!engine) throw new Error('No model has been loaded yet.')
  return engine
}

const writing = {
  /** Loads the model. To be called once: each model has a worker of its own, and a package in it. */
  async use(source: Source, onprogress?: OnProgress) {
    engine = new Engine(await loadModel(source, onprogress))
    return engine.model
  },

  /** @param listen called with what there is to see, at most once a frame */
  listen(listen: (report: Report) => unknown) {
    listener = listen
  },

  /**
   * Changes which characters the tokens are; the page calls `set` next. Nothing here is awaited, so that a later
   * `set` has the new characters.
   */
  spell(characters: string) {
    const now = current()
    now.readAs(tokensOf(now.model.vocabSize, characters))
  },

  /**
   * @param words after the prompt that are written at once
   * @returns the prompt, and why it is not the one that was asked for; '' if it is
   */
  set(settings: Settings, words: number) {
    const now = current()
    const refused = now.refusalOf(settings.prompt)
    const prompt = refused ? now.settings.prompt : settings.prompt
    now.set({ ...settings, prompt })
    while (now.with.at - now.promptLength + 1 < words && !now.ended) now.step()
    report()
    return { prompt, refused }
  },

  play() {
    clearTimeout(timer)
    playing = true
    write(performance.now() + PACE)
  },

  pause() {
    clearTimeout(timer)
    playing = false
    report()
  },

  /** @param at a token's place in the text */
  goTo(at: number) {
    current().goTo(at)
    report()
  },
}
expose(writing)

export type WriterWorker = typeof writing
