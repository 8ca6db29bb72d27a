// The writing GPT as the page sees it: the latest report of its worker, and what can be asked of it.

import { messageOf } from '../../errors.ts'
import { callback, inWorker, stop, type Remote } from '../../remote.ts'
import type { Settings } from './engine.ts'
import { BEGINNINGS } from '../story/slice.ts'
import type { Report } from './report.ts'
import { FULL_SPEED } from './slice.ts'
import type { Source, WritingWorker } from './writing.worker.ts'

const LEAST = 0.1 // the part of a figure that is seen, from which on it writes

export class Writer {
  /** What there is to see; a recording until the model is there. */
  report: Report = $state.raw({} as Report)
  /** Whether `report` comes from the model. */
  live = $state(false)
  /** The sizes of the model. */
  model = $state.raw({ width: 80, blocks: 4, norms: 9, heads: 4, tokens: 192 })
  source: Source['name'] = $state('stories')
  /** Whether the reader wants it to write. */
  wanted = $state(true)
  /** Tokens per second. */
  speed = $state(8)
  /** Why nothing is written; '' if something is. */
  problem = $state('')
  /** How the text begins. */
  prompt: string = $state(BEGINNINGS[0])
  /** Why the text does not begin as it should; '' if it does, and once the next one begins. */
  refused = $state('')

  #worker: Remote<WritingWorker> | null = null
  /** How often a model was asked for. */ #uses = 0
  #settings: Settings | null = null
  /** How many words after the prompt are written at once. */ #words = 0
  /** Whether the section is on the screen. */ #seen = false
  /** Whether the worker has a model. */ #loaded = false
  /** Whether the worker has the settings. */ #ready = false

  /** @param recording is shown until the model writes; without one `report` is empty until `live` */
  constructor(recording?: Report) {
    if (recording) this.report = recording
  }

  /**
   * Writes while an element is on the screen; the worker starts when it is first seen.
   *
   * @returns ends the worker
   */
  watch(element: Element): () => void {
    let onScreen = false
    const see = () => {
      this.#seen = onScreen && !document.hidden
      if (this.#seen && !this.#worker) this.tellStories()
      this.#move()
    }
    const observer = new IntersectionObserver(
      (entries) => {
        onScreen = entries.at(-1)?.isIntersecting === true
        see()
      },
      { threshold: LEAST },
    )
    observer.observe(element)
    document.addEventListener('visibilitychange', see)
    return () => {
      observer.disconnect()
      document.removeEventListener('visibilitychange', see)
      this.#end()
    }
  }

  /** Starts the worker. */
  #start(): Remote<WritingWorker> {
    const thread = new Worker(new URL('./writing.worker.ts', import.meta.url), { type: 'module' })
    const worker: Remote<WritingWorker> = inWorker(thread)
    thread.addEventListener('error', () => {
      if (this.#worker !== worker) return
      this.#end()
      this.problem = 'the worker could not be started'
    })
    // Not waited for: a GPT-2 that is chosen meanwhile comes after the stories.
    worker.listen(callback((report: Report) => this.#take(report)))
    return (this.#worker = worker)
  }

  /** Ends the worker. */
  #end() {
    if (this.#worker) stop(this.#worker)
    this.#worker = null
    this.#loaded = this.#ready = false
  }

  /** Writes with the stories, in a new worker. What goes wrong is the `problem`. */
  tellStories() {
    this.#end()
    this.use({ name: 'stories' }).catch(() => {})
  }

  /** Writes with another model. The one before goes on until this has succeeded. */
  async use(source: Source, onprogress?: (progress: { loaded: number; total: number }) => void) {
    const uses = ++this.#uses
    this.problem = ''
    try {
      const worker = this.#worker ?? this.#start()
      this.model = await worker.use(source, onprogress && callback(onprogress))
    } catch (error) {
      if (uses === this.#uses && !this.#loaded) this.problem = messageOf(error).replace(/\.$/, '')
      throw error
    }
    this.source = source.name
    this.#loaded = true
    this.#ready = false
    if (this.#settings) await this.set(this.#settings, this.#words)
  }

  /** Ends the `use` that is running. */
  async cancel() {
    await this.#worker?.cancel()
  }

  /** @param words after the prompt that are written at once */
  async set(settings: Settings, words = 0) {
    this.#settings = settings
    this.#words = words
    if (!this.#worker || !this.#loaded) return // `use` will tell the worker
    const off = Array.from({ length: this.model.norms }, (_, i) => settings.off[i] ?? false)
    const refused = await this.#worker.refusalOf(settings.prompt)
    if (refused) this.refused = refused
    else {
      if (settings.prompt !== this.prompt) this.refused = ''
      this.prompt = settings.prompt
    }
    await this.#worker.set({ ...settings, off, prompt: this.prompt }, words)
    this.#ready = true
    this.#move()
  }

  play(wanted: boolean, speed: number = this.speed) {
    this.wanted = wanted
    this.speed = speed
    this.#move()
  }

  /** Goes to a token of the text, and stops. */
  async goTo(at: number) {
    this.play(false)
    if (this.#ready) await this.#worker?.goTo(at)
  }

  #move() {
    if (!this.#ready) return
    if (this.wanted && this.#seen) this.#worker?.play(this.speed < FULL_SPEED ? this.speed : Infinity)
    else this.#worker?.pause()
  }

  #take(report: Report) {
    if (this.live && report.seed !== this.report.seed) this.refused = ''
    this.report = report
    this.live = true
  }
}
