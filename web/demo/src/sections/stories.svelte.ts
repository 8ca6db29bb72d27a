// The stories' GPT as a section sees it. It runs in a worker: neither its code nor its work is the page's.

import { messageOf } from '../errors.ts'
import { inWorker, stop, type Remote } from '../remote.ts'
import type { StoriesWorker } from './stories.worker.ts'

export class Stories<Answer> {
  /** The model's last answer; null before the first. */
  answer: Answer | null = $state.raw(null)
  /** Why there is no answer; '' otherwise. */
  problem = $state('')
  #worker: Remote<StoriesWorker> | null = $state.raw(null)

  /**
   * Ends the worker with the component.
   *
   * @param ask is called once the worker is there, and again when state that it has read changes
   */
  constructor(ask: (model: Remote<StoriesWorker>) => Promise<Answer>) {
    $effect(() => {
      if (!this.#worker) return
      ask(this.#worker).then(
        (answer) => (this.answer = answer),
        (error) => (this.problem = messageOf(error)),
      )
    })
    $effect(() => () => this.#end())
  }

  #end() {
    if (this.#worker) stop(this.#worker)
    this.#worker = null
  }

  load() {
    this.#end()
    this.problem = ''
    this.#worker = inWorker(
      () => new Worker(new URL('./stories.worker.ts', import.meta.url), { type: 'module' }),
      () => (this.problem = 'the worker could not be started'),
    )
  }
}
