// The stories model for a component that runs it on the page's own thread.

import type { Gpt } from 'gpt-layers'
import { untrack } from 'svelte'
import { messageOf } from './errors.ts'
import { loadStories } from './stories.ts'

export class Stories {
  /** Null until it is here. */
  model: Awaited<ReturnType<typeof loadStories>> | null = $state.raw(null)
  /** Why the model could not be loaded; '' otherwise. */
  problem = $state('')
  readonly #gpt: () => Gpt
  readonly #leaving = new AbortController()

  /** Disposes of the model with the component. */
  constructor(gpt: () => Gpt) {
    this.#gpt = gpt
    $effect(() => () => {
      this.#leaving.abort()
      untrack(() => this.model)?.dispose()
    })
  }

  async load() {
    const { signal } = this.#leaving
    this.problem = ''
    try {
      this.model = await loadStories(this.#gpt(), { signal })
    } catch (error) {
      if (!signal.aborted) this.problem = messageOf(error)
    }
  }
}
