// The training of both stacks, as the page sees it. The worker does one thing at a time. When it is free it
// gets the latest request; older requests are dropped. A pause takes effect between two steps.

import { inWorker, stop } from '../../worker.js'
import { isFinite } from './words.js'

/** @import { Remote } from '../../worker.js' */
/** @import { Lab } from './deep-stack.worker.js' */
/** @import { Moment, Settings } from './words.js' */

export const STEPS = 200

export class Training {
  /**
   * One moment per step, the first before any step; empty until the worker has answered.
   *
   * @type {readonly Moment[]}
   */
  history = $state.raw([])
  playing = $state(false)
  /** Whether the shown numbers still belong to earlier settings. */
  pending = $state(true)
  /** Why there are no numbers; '' if there are. */
  problem = $state('')
  /** Steps per second; 0 for as many as possible. */
  speed = 0

  /** @type {Settings | null} */ #wanted = null
  /** The settings of `history`. @type {Settings | null} */
  #shown = null
  /** The worker's settings and its number of steps. @type {{ settings: Settings, step: number } | null} */
  #at = null
  #single = false
  /** Whether the section is on the screen. */
  #here = false
  /** @type {Remote<Lab> | null} */ #trainer = null
  /** The loop that asks the worker; it ends when another loop replaces it. @type {object | null} */
  #loop = null
  #wake = () => {}

  /** The number of steps taken. */
  get step() {
    return Math.max(0, this.history.length - 1)
  }

  get done() {
    const now = this.history.at(-1)
    return this.step >= STEPS || (now !== undefined && !isFinite(now.with) && !isFinite(now.without))
  }

  /** Starts again with other settings. @param {Settings} settings */
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

  /** Ends the worker. The shown numbers stay, and the training can continue from there. */
  leave() {
    this.#here = false
    this.playing = false
    this.#single = false
    this.#loop = null
    this.#at = null
    if (this.#trainer) stop(this.#trainer)
    this.#trainer = null
  }

  /** Allows a worker again. */
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

  /** Does the next thing. @param {object} loop @returns {Promise<boolean>} whether there was one */
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
    if (at.step <= this.step) return true // a new worker repeats the steps that are already shown
    this.#single = false
    this.history = [...this.history, now]
    if (this.done) this.playing = false
    else if (this.playing && this.speed > 0) await this.#sleep(1000 / this.speed)
    return true
  }

  /** @returns {Remote<Lab>} */
  #start() {
    this.problem = ''
    const worker = new Worker(new URL('./deep-stack.worker.js', import.meta.url), { type: 'module' })
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
