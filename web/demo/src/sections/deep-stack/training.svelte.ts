// The training of both stacks, as the page sees it. It runs while the section is on the screen. With other
// settings it starts again. The worker does one thing at a time; when it is free, the latest settings count.

import { messageOf } from '../../errors.ts'
import { inWorker, stop, type Remote } from '../../remote.ts'
import type { Lab } from './deep-stack.worker.ts'
import type { Both, Settings } from './words.ts'

export const STEPS = 200
const AT_ONCE = 4 // steps for each question to the worker

export class Training {
  /** The losses of `settings`, the first before any step; null until the worker has answered. */
  losses: Both<readonly number[]> | null = $state.raw(null)
  /** The deviation of the last layer's numbers after these steps. */
  deviation: Both<number> | null = $state.raw(null)
  /** The settings to which the losses belong. */
  settings: Settings | null = $state.raw(null)
  /** Why the training stopped; '' if it did not. */
  problem = $state('')

  #wanted: Settings | null = null
  /** Whether the section is on the screen. */
  #here = false
  #lab: Remote<Lab> | null = null
  #busy = false

  get done() {
    return (this.losses?.with.length ?? 0) > STEPS
  }

  /** Trains stacks with these settings from now on. */
  set(settings: Settings) {
    this.#wanted = settings
    this.#run()
  }

  come() {
    this.#here = true
    this.problem = ''
    this.#run()
  }

  /** Ends the worker. What it found stays; a training that was not done will start again. */
  leave() {
    this.#here = false
    if (this.#lab) stop(this.#lab)
    this.#lab = null
    this.#busy = false
    if (!this.done) this.settings = null
  }

  /** Trains in a new worker. */
  tryAgain() {
    this.leave()
    this.come()
  }

  async #run() {
    if (this.#busy || !this.#here) return
    this.#busy = true
    let lab: Remote<Lab> | null = null
    try {
      for (;;) {
        const wanted = this.#wanted
        const { losses, settings } = this
        if (!wanted || (wanted === settings && this.done)) break
        lab = this.#lab ??= this.#start()
        if (wanted === settings && losses) {
          const more = await lab.steps(Math.min(AT_ONCE, STEPS + 1 - losses.with.length))
          if (this.#lab !== lab) return
          this.losses = {
            without: [...losses.without, ...more.without.losses],
            with: [...losses.with, ...more.with.losses],
          }
          this.deviation = { without: more.without.deviation, with: more.with.deviation }
        } else {
          const first = await lab.begin(wanted)
          if (this.#lab !== lab) return
          this.settings = wanted
          this.losses = { without: [first.without], with: [first.with] }
        }
      }
    } catch (error) {
      if (this.#lab !== lab) return
      this.problem = `The training stopped: ${messageOf(error)}.`
    }
    this.#busy = false
  }

  #start(): Remote<Lab> {
    const worker = new Worker(new URL('./deep-stack.worker.ts', import.meta.url), { type: 'module' })
    worker.addEventListener('error', () => {
      this.leave()
      this.problem = 'The training stopped: its worker could not be started.'
    })
    return inWorker(worker)
  }
}
