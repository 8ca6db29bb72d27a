// The writing GPT as the page sees it: the latest report of its worker, and what can be asked of it.

import { messageOf } from '../errors.ts'
import { whenSeen } from '../near.ts'
import { callback, type Remote } from '../remote.ts'
import type { Settings } from './engine.ts'
import type { Source } from './gpt.worker.ts'
import { startGpt, storiesGpt, type Gpt } from './gpt.ts'
import type { Report } from './report.ts'
import type { Text } from './text.ts'

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

  /** Who writes, and the text. */
  #gpt: Gpt | null = null
  #text: Remote<Text> | null = null
  /** Ends the `use` that is running. */
  #abandon: (() => void) | null = null
  /** How often the text was given settings. */ #sets = 0
  #settings: Settings | null = null
  /** How many words after the prompt are written at once. */ #words = 0
  /** The elements on the screen that show the text. */ #seen: Set<Element> = new Set()
  /** Whether the text has the settings. */ #ready = false

  /** @param recording is shown until the model writes; without one `report` is empty until `live` */
  constructor(recording?: Report) {
    if (recording) this.report = recording
  }

  /**
   * Writes while an element is on the screen; the GPT is fetched when one is first seen.
   *
   * @returns ends it
   */
  watch(element: Element): () => void {
    const unwatch = whenSeen(element, (seen) => {
      if (seen) this.#seen.add(element)
      else this.#seen.delete(element)
      if (seen && !this.#text && !this.#abandon && !this.problem) this.tellStories()
      this.#move()
    })
    return () => {
      unwatch()
      this.#seen.delete(element)
      this.#move()
    }
  }

  #end() {
    this.#text?.end().catch(() => {})
    if (this.source === 'file') this.#gpt?.end()
    this.#gpt = this.#text = null
    this.#ready = false
  }

  /** Writes with the stories' model. If it cannot be loaded, `problem` says why. */
  tellStories() {
    this.#end()
    this.use({ name: 'stories' }).catch(() => {})
  }

  /**
   * Loads another model in a worker of its own, or takes the stories', then writes with it. Until then the
   * previous model goes on writing. If loading fails and there is no previous model, the stories' model is
   * loaded.
   */
  async use(
    source: Source,
    onprogress?: (progress: { loaded: number; total: number }) => void,
  ): Promise<Report['model']> {
    this.#abandon?.()
    this.problem = ''
    const own = source.name === 'file' ? source : null
    const gpt = own ? startGpt() : storiesGpt()
    let abandoned = false
    let text: Remote<Text> | null = null
    const begin = async () => {
      if (own) await gpt.calls.read(own, onprogress && callback(onprogress))
      return gpt.calls.text(callback((report: Report) => this.#text === text && this.#take(report)))
    }
    try {
      text = await new Promise<Remote<Text>>((resolve, reject) => {
        this.#abandon = () => {
          abandoned = true
          reject(new Error('cancelled'))
        }
        gpt.failed.catch(reject)
        begin().then(resolve, reject)
      })
    } catch (error) {
      if (own) gpt.end()
      if (abandoned) throw error
      this.#abandon = null
      if (own) this.#goOn()
      else this.problem = messageOf(error).replace(/\.$/, '')
      throw error
    }
    this.#abandon = null
    this.#end()
    this.#gpt = gpt
    this.#text = text
    this.source = source.name
    gpt.failed.catch((error) => {
      if (this.#gpt !== gpt) return
      this.#gpt = this.#text = null
      this.#ready = false
      this.problem = messageOf(error)
    })
    const model = await text.model
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
    if (!this.#text) this.tellStories()
  }

  /** Reads and writes characters: what the tokens of the reader's model are. */
  async spell(characters: string) {
    await this.#text?.spell(characters)
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
    if (!this.#text) return // `use` will set it
    const sets = ++this.#sets
    const { prompt, refused } = await this.#text.set(settings, words)
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
    if (this.#ready) await this.#text?.goTo(at)
  }

  #move() {
    if (!this.#ready) return
    if (this.wanted && this.#seen.size > 0) this.#text?.play()
    else this.#text?.pause()
  }

  #take(report: Report) {
    if (this.live && report.seed > this.report.seed) this.refused = ''
    this.report = report
    this.live = true
  }
}
