// Both stacks' training as the page sees it. The worker does one thing at a time, and next what is wanted by then: the
// last request is what comes to be shown, and a pause comes between two steps.

import { inWorker, stop } from '../../worker.js'
import { isFinite } from './words.js'

/** @import { Remote } from '../../worker.js' */
/** @import { Lab } from './trainer.js' */
/** @import { Moment, Settings } from './words.js' */

export const STEPS = 200

export class Training {
  /** One moment a step, from before the first; empty until there is one. @type {readonly Moment[]} */
  history = $state.raw([])
  playing = $state(false)
  /** Whether the numbers that are shown are still those of other settings. */
  pending = $state(true)
  /** Why there is nothing, if so. */
  problem = $state('')
  /** Steps a second, 0 for as many as there can be. */
  speed = 0

  /** @type {Settings | null} */ #wanted = null
  /** What `history` is of. @type {Settings | null} */ #shown = null
  /** What the worker has, and how many steps it took. @type {{ settings: Settings, step: number } | null} */ #at =
    null
  #single = false
  /** Whether somebody is looking. */
  #here = false
  /** @type {Remote<Lab> | null} */ #trainer = null
  /** The one loop that asks the worker; another in its place tells it to end. @type {object | null} */ #loop =
    null
  #wake = () => {}

  /** How many steps were taken. */
  get step() {
    return Math.max(0, this.history.length - 1)
  }

  get done() {
    const now = this.history.at(-1)
    return this.step >= STEPS || (now !== undefined && !isFinite(now.with) && !isFinite(now.without))
  }

  /** From the first step, with these. @param {Settings} settings */
  set(settings) {
    this.playing = false
    this.pending = true
    this.#single = false
    this.#wanted = settings
    this.#go()
  }

  reset() {
    this.playing = false
    this.#single = false
    this.history = this.history.slice(0, 1)
    this.#at = null
  }

  play() {
    if (this.done) this.reset()
    this.playing = true
    this.#go()
  }

  pause() {
    this.playing = false
    this.#wake()
  }

  one() {
    this.playing = false
    this.#single = !this.done
    this.#go()
  }

  /** Ends the worker; what is shown stays, and goes on from there. */
  leave() {
    this.#here = false
    this.playing = false
    this.#single = false
    this.#loop = null
    this.#at = null
    if (this.#trainer) stop(this.#trainer)
    this.#trainer = null
  }

  /** Keeps the worker from now on. */
  come() {
    this.#here = true
    this.#go()
  }

  async #go() {
    this.#wake()
    if (this.#loop) return
    const loop = (this.#loop = {})
    try {
      while (this.#loop === loop && (await this.#work(loop)));
    } catch (error) {
      this.problem = `The training stopped: ${error instanceof Error ? error.message : error}.`
      this.playing = false
    }
    if (this.#loop !== loop) return
    this.#loop = null
    if (!this.#here) this.leave()
  }

  /** Does what comes next. @param {object} loop @returns {Promise<boolean>} whether there was anything */
  async #work(loop) {
    const settings = this.#wanted
    const fresh = this.#shown !== settings
    if (!settings || !(fresh || this.playing || this.#single)) return false
    const trainer = (this.#trainer ??= this.#start())
    const at = this.#at
    if (at?.settings !== settings) {
      const first = await trainer.begin(settings)
      if (this.#loop !== loop || this.#wanted !== settings) return true
      this.#at = { settings, step: 0 }
      if (fresh) this.history = [first]
      this.#shown = settings
      this.pending = false
      return true
    }
    const now = await trainer.step()
    if (this.#loop !== loop || this.#at !== at) return true
    at.step++
    if (at.step <= this.step) return true // catches up, in a new worker, with what is shown
    this.#single = false
    this.history = [...this.history, now]
    if (this.done) this.playing = false
    else if (this.playing && this.speed > 0) await this.#sleep(1000 / this.speed)
    return true
  }

  /** @returns {Remote<Lab>} */
  #start() {
    this.problem = ''
    const worker = new Worker(new URL('./trainer.js', import.meta.url), { type: 'module' })
    worker.addEventListener('error', () => {
      this.problem = 'The training stopped: its worker could not be started.'
      this.leave()
    })
    return inWorker(worker)
  }

  /** @param {number} milliseconds or until something is asked for */
  #sleep(milliseconds) {
    return /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, milliseconds)
      })
    )
  }
}
