// A text that a GPT writes in a worker, at its own pace. It writes no further token before the page has taken the last
// report.

import { Engine, type EngineParts, type Settings } from './engine.ts'
import type { Report } from './report.ts'

const PACE = 125 // milliseconds from one token to the next
const REST = 4000 // milliseconds between the end of a text and the next one

export class Text {
  #engine: Engine
  #listen: (report: Report) => unknown
  #timer: ReturnType<typeof setInterval> | undefined
  /** How often the text has rested since its end. */
  #rests = 0
  /** Whether the page has taken the last report. */
  #taken = true

  /** @param listen called with each report of the engine */
  constructor(parts: EngineParts, listen: (report: Report) => unknown) {
    this.#engine = new Engine(parts)
    this.#listen = listen
  }

  /** @param words after the prompt that are written at once */
  set(settings: Settings, words: number) {
    const engine = this.#engine
    engine.set(settings)
    while (engine.with.at - engine.promptLength + 1 < words && !engine.ended) engine.step()
    void this.#report()
  }

  play() {
    this.pause()
    this.#timer = setInterval(() => this.#write(), PACE)
  }

  pause() {
    clearInterval(this.#timer)
  }

  async #report() {
    this.#taken = false
    await this.#listen(this.#engine.report())
    this.#taken = true
  }

  /** Writes a token, or after a rest begins the next text. */
  #write() {
    const engine = this.#engine
    if (!this.#taken || (engine.ended && this.#rests++ < REST / PACE)) return
    this.#rests = 0
    if (engine.ended) engine.next()
    else engine.step()
    void this.#report()
  }
}
