// A question to the stories' GPT as a section asks it.

import { messageOf } from '../errors.ts'
import { storiesGpt, type Gpt } from './gpt.ts'

export class Ask<Answer> {
  /** The model's last answer; null before the first. */
  answer: Answer | null = $state.raw(null)
  /** Why there is no answer; '' otherwise. */
  problem = $state('')
  /** How often it was asked. */ #asked = $state(0)

  /** @param ask is called by `load`, and again when state that it has read changes */
  constructor(ask: (calls: Gpt['calls']) => Promise<Answer>) {
    $effect(() => {
      if (this.#asked === 0) return
      const gpt = storiesGpt()
      Promise.race([ask(gpt.calls), gpt.failed]).then(
        (answer) => (this.answer = answer),
        (error) => (this.problem = messageOf(error)),
      )
    })
  }

  /** Asks; again where there was a problem. */
  load() {
    this.problem = ''
    this.#asked++
  }
}
