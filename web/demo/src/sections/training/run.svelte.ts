// One training of both networks, as the page sees it. It can pause. After a problem the page begins another one.

import { messageOf } from '../../errors.ts'
import { inWorker, stop, type Remote } from '../../remote.ts'
import { STEPS, type Pair, type Settings } from './compute.ts'
import type { Lab } from './training.worker.ts'

const AT_ONCE = 5 // steps for each question to the worker
const ASK_EVERY = 50 // steps

export class Run {
  /** The loss of each step. */
  losses: Pair<readonly number[]> = $state.raw({ with: [], without: [] })
  /** What each network answered last, and after how many steps. */
  answers: (Pair<string> & { step: number }) | null = $state.raw(null)
  /** Why the training stopped; '' if it did not. */
  problem = $state('')

  readonly #settings: Settings
  #lab: Remote<Lab> | null = null
  #playing = false
  #busy = false

  constructor(settings: Settings) {
    this.#settings = settings
  }

  get step() {
    return this.losses.with.length
  }

  get done() {
    return this.step === STEPS
  }

  play() {
    this.#playing = true
    if (!this.#busy && !this.done) this.#train()
  }

  pause() {
    this.#playing = false
  }

  /** Ends the worker. */
  end() {
    if (this.#lab) stop(this.#lab)
    this.#lab = null
    this.#busy = false
  }

  async #train() {
    this.#busy = true
    try {
      if (!this.#lab) {
        const worker = new Worker(new URL('./training.worker.ts', import.meta.url), { type: 'module' })
        this.#lab = inWorker(worker, () => {
          this.end()
          this.problem = 'The training stopped: its worker could not be started.'
        })
        await this.#lab.begin(this.#settings)
      }
      while (this.#playing && this.#lab && !this.done) {
        const losses = await this.#lab.steps(AT_ONCE)
        const step = this.step + AT_ONCE
        if (step % ASK_EVERY === 0 || step === AT_ONCE)
          this.answers = { step, ...(await this.#lab.answers()) }
        this.losses = {
          with: [...this.losses.with, ...losses.map((loss) => loss.with)],
          without: [...this.losses.without, ...losses.map((loss) => loss.without)],
        }
      }
    } catch (error) {
      this.problem = `The training stopped: ${messageOf(error)}.`
    }
    this.#busy = false
    if (this.done) this.end()
  }
}
