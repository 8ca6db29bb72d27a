// The writing GPT as the page sees it: the latest report of its worker, and what can be asked of it.

import { messageOf } from '../errors.ts'
import { whenSeen } from '../near.ts'
import { callback, inWorker, stop, type Remote } from '../remote.ts'
import type { Settings } from './engine.ts'
import type { Report } from './report.ts'
import type { Source, WriterWorker } from './writer.worker.ts'

export class Writer {
  /** What there is to see; a recording until the model is there. */
  report: Report = $state.raw({} as Report)
  /** Whether `report` comes from the model. */
  live = $state(false)
  source: Source['name'] = $state('stories')
  /** Whether the reader wants it to write. */
  wanted = $state(true)
  /** Why nothing is written; '' if something is. */
  problem = $state('')
  /** How the text begins. */
  prompt = $state('')
  /** Why the text does not begin as it should; '' if it does, and once the next one begins. */
  refused = $state('')

  /** The worker that writes. */
  #worker: Remote<WriterWorker> | null = null
  /** Ends the `use` that is running. */
  #abandon: (() => void) | null = null
  /** How often the worker was given settings. */ #sets = 0
  #settings: Settings | null = null
  /** How many norms the model has. */ #norms = 0
  /** How many words after the prompt are written at once. */ #words = 0
  /** Whether the section is on the screen. */ #seen = false
  /** Whether the worker has the settings. */ #ready = false

  /** @param recording is shown until the model writes; without one `report` is empty until `live` */
  constructor(recording?: Report) {
    if (recording) this.report = recording
  }

  /**
   * Writes while an element is on the screen; the worker starts when it is first seen.
   *
   * @returns ends the workers
   */
  watch(element: Element): () => void {
    const unwatch = whenSeen(element, (seen) => {
      this.#seen = seen
      if (seen && !this.#worker && !this.#abandon) this.tellStories()
      this.#move()
    })
    return () => {
      unwatch()
      this.#abandon?.()
      this.#end()
    }
  }

  #end() {
    if (this.#worker) stop(this.#worker)
    this.#worker = null
    this.#ready = false
  }

  /** Loads the stories' model and writes with it. If that fails, `problem` says why. */
  tellStories() {
    this.#end()
    this.use({ name: 'stories' }).catch(() => {})
  }

  /**
   * Loads another model in a new worker, then writes with it. Until then the previous model goes on writing. If
   * loading fails and there is no previous model, the stories' model is loaded.
   */
  async use(
    source: Source,
    onprogress?: (progress: { loaded: number; total: number }) => void,
  ): Promise<Report['model']> {
    this.#abandon?.()
    this.problem = ''
    const create = () => new Worker(new URL('./writer.worker.ts', import.meta.url), { type: 'module' })
    let fail: (error: Error) => void = () => {}
    const worker: Remote<WriterWorker> = inWorker(create, () => {
      const problem = 'the worker could not be started'
      fail(new Error(problem))
      if (this.#worker !== worker) return
      this.#end()
      this.problem = problem
    })
    let abandoned = false
    let model: Report['model']
    try {
      model = await new Promise((resolve, reject) => {
        this.#abandon = () => {
          abandoned = true
          reject(new Error('cancelled'))
        }
        fail = reject
        worker.use(source, onprogress && callback(onprogress)).then(resolve, reject)
      })
    } catch (error) {
      stop(worker)
      if (abandoned) throw error
      this.#abandon = null
      if (source.name === 'file') this.#goOn()
      else this.problem = messageOf(error).replace(/\.$/, '')
      throw error
    }
    this.#abandon = null
    this.#end()
    this.#worker = worker
    worker.listen(callback((report: Report) => this.#take(report)))
    this.source = source.name
    this.#norms = model.norms
    await this.#begin()
    return model
  }

  /** Ends the `use` that is running. */
  cancel() {
    this.#abandon?.()
    this.#abandon = null
    this.#goOn()
  }

  /** Goes on with the model that writes; loads the stories' model where there is none. */
  #goOn() {
    if (!this.#worker) this.tellStories()
  }

  /** Reads and writes characters: what the tokens of the reader's model are. */
  async spell(characters: string) {
    await this.#worker?.spell(characters)
    await this.#begin()
  }

  /** Begins a text with other tokens. That they cannot be what the text before began with is not said. */
  async #begin() {
    const isFirst = this.prompt === ''
    if (this.#settings) await this.set(this.#settings, this.#words)
    if (!isFirst) this.refused = ''
  }

  /** @param words after the prompt that are written at once */
  async set(settings: Settings, words = 0) {
    this.#settings = settings
    this.#words = words
    if (!this.#worker) return // `use` will tell the worker
    const off = Array.from({ length: this.#norms }, (_, i) => settings.off[i] ?? false)
    const sets = ++this.#sets
    const { prompt, refused } = await this.#worker.set({ ...settings, off }, words)
    if (sets !== this.#sets) return // the answer to later settings is on its way
    if (refused || prompt !== this.prompt) this.refused = refused
    this.prompt = prompt
    this.#ready = true
    this.#move()
  }

  play(wanted: boolean) {
    this.wanted = wanted
    this.#move()
  }

  /** Goes to a token of the text, and stops. */
  async goTo(at: number) {
    this.play(false)
    if (this.#ready) await this.#worker?.goTo(at)
  }

  #move() {
    if (!this.#ready) return
    if (this.wanted && this.#seen) this.#worker?.play()
    else this.#worker?.pause()
  }

  #take(report: Report) {
    if (this.live && report.seed > this.report.seed) this.refused = ''
    this.report = report
    this.live = true
  }
}
