// The page's GPT as the page sees it: a worker, so that neither its code nor its work is the page's.

import { inWorker, stop, type Remote } from '../remote.ts'
import type { GptWorker } from './gpt.worker.ts'

export interface Gpt {
  calls: Remote<GptWorker>
  /** Rejected when the worker cannot be started, or fails later: then no call is answered. */
  failed: Promise<never>
  end(): void
}

/** Starts a worker with a GPT. */
export function startGpt(): Gpt {
  let fail: (error: Error) => void
  const failed = new Promise<never>((_, reject) => (fail = reject))
  failed.catch(() => {}) // whoever waits for a call says it
  const create = () => new Worker(new URL('./gpt.worker.ts', import.meta.url), { type: 'module' })
  const calls: Remote<GptWorker> = inWorker(create, () => fail(new Error('the worker could not be started')))
  return { calls, failed, end: () => stop(calls) }
}

let shared: Gpt | null = null

/** The worker with the stories' GPT: one for all sections. Where it has failed, another one. */
export function storiesGpt(): Gpt {
  if (shared) return shared
  const started = (shared = startGpt())
  started.failed.catch(() => {
    started.end()
    if (shared === started) shared = null
  })
  return started
}
