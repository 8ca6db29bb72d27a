// A text that a GPT writes in a worker. It is written at its own pace, and reported at most once a frame, and only
// when the page has taken the last report: the text never waits for drawing.

import { Engine, type EngineParts, type Settings } from './engine.ts'
import { snapshot, type Report } from './report.ts'

const FRAME = 16 // milliseconds
const PACE = 125 // milliseconds from one token to the next
const REST = 4000 // milliseconds between the end of a text and the next one

const sleep = (milliseconds: number) => new Promise((wake) => setTimeout(wake, milliseconds))

export class Text {
  #engine: Engine
  #listen: (report: Report) => unknown
  #playing = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #posting = false
  #changed = false

  /** @param listen called with what there is to see, at most once a frame */
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
    clearTimeout(this.#timer)
    this.#playing = true
    this.#write(performance.now() + PACE)
  }

  pause() {
    clearTimeout(this.#timer)
    this.#playing = false
    void this.#report()
  }

  async #report() {
    this.#changed = true
    if (this.#posting) return
    this.#posting = true
    // A new engine has nothing to show before its first `set`.
    while (this.#changed && this.#engine.with.step) {
      this.#changed = false
      const begun = performance.now()
      await this.#listen(snapshot(this.#engine))
      await sleep(Math.max(0, FRAME - (performance.now() - begun)))
    }
    this.#posting = false
  }

  /** Writes a token, and sees to the next one. @param due when it should be written */
  #write(due: number) {
    // `play` may come before the first `set`.
    if (!this.#playing || !this.#engine.with.step) return
    const engine = this.#engine
    const now = performance.now()
    if (engine.ended) {
      const { settings } = engine
      engine.set({ ...settings, seed: (settings.seed + 1) % 2 ** 32, from: 0 })
    } else engine.step()
    void this.#report()
    const next = Math.max(now, due + (engine.ended ? REST : PACE))
    this.#timer = setTimeout(() => this.#write(next), next - performance.now())
  }
}
