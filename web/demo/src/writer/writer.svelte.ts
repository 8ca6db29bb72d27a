// A text that the stories' GPT writes, as the page sees it: its latest report, and what can be asked of it.

import { messageOf } from '../errors.ts'
import { whenSeen } from '../near.svelte.ts'
import type { Remote } from '../remote.ts'
import { inTurn } from '../turns.ts'
import type { Settings } from './engine.ts'
import type { Report } from './report.ts'
import type { Text } from './text.ts'

export class Writer {
  /** The last report of the engine, or the recording until the model is there. */
  report: Report = $state.raw({} as Report)
  /** Whether `report` comes from the model. */
  live = $state(false)
  /** Whether the reader wants it to write. */
  wanted = $state(true)
  /** Why nothing is written; '' if something is. */
  problem = $state('')

  #text: Remote<Text> | null = null
  /** Whether the text is on its way. */ #asked = false
  #settings: Settings | null = null
  /** How many words after the prompt are written at once. */ #words = () => 0
  /** The elements on the screen that show the text. */ #seen: Set<Element> = new Set()
  /** Whether the text waits for what the page shows. */ #held = false

  /** @param recording is shown until the model writes; without one `report` is empty until `live` */
  constructor(recording?: Report) {
    if (recording) this.report = recording
  }

  /** Writes while an element is on the screen; the GPT is fetched once one has been seen. */
  watch = (element: Element) => {
    const unwatch = whenSeen((seen) => {
      if (seen) this.#seen.add(element)
      else this.#seen.delete(element)
      if (seen && !this.#asked) void inTurn(() => this.load())
      this.#move()
    })(element)
    return () => {
      unwatch()
      this.#seen.delete(element)
      this.#move()
    }
  }

  /** Fetches the GPT and writes. Where that fails, `problem` says why. */
  async load() {
    if (this.#asked) return
    this.#asked = true
    this.problem = ''
    const fail = (error: unknown) => {
      this.#text = null
      this.#asked = false
      this.problem = messageOf(error).replace(/\.$/, '')
    }
    try {
      // Not with the first screen, which begins without a GPT.
      const { proxy, storiesGpt } = await import('./gpt.ts')
      const gpt = storiesGpt()
      const listen = proxy((report: Report) => this.#take(report))
      this.#text = await Promise.race([gpt.calls.text(listen), gpt.failed])
      gpt.failed.catch(fail)
      if (this.#settings) await this.set(this.#settings, this.#words)
    } catch (error) {
      fail(error)
    }
  }

  /** @param words how many after the prompt are written at once, when the GPT is there */
  async set(settings: Settings, words = () => 0) {
    this.#settings = settings
    this.#words = words
    await this.#text?.set(settings, words())
    this.#move()
  }

  /** Whether the text is on the screen. */
  get seen() {
    return this.#seen.size > 0
  }

  /** Lets the text wait, or go on. */
  hold(held: boolean) {
    this.#held = held
    this.#move()
  }

  play(wanted: boolean) {
    this.wanted = wanted
    this.#move()
  }

  #move() {
    if (this.wanted && this.seen && !this.#held) this.#text?.play()
    else this.#text?.pause()
  }

  #take(report: Report) {
    this.report = report
    this.live = true
  }
}
