// The page's GPT as the page sees it: a worker, so that neither its code nor its work is the page's.

import { inWorker, proxy, stop, type Remote } from '../remote.ts'
import type { GptWorker } from './gpt.worker.ts'

export { proxy }

export interface Gpt {
  calls: Remote<GptWorker>
  /** Rejected when the worker cannot be started, or fails later: then no call is answered. */
  failed: Promise<never>
}

let started: Gpt | null = null

/** The worker with the stories' GPT: one for all sections. After a failure a new one is started. */
export function storiesGpt(): Gpt {
  if (started) return started
  let fail: (error: Error) => void
  const failed = new Promise<never>((_, reject) => (fail = reject))
  const worker = new Worker(new URL('./gpt.worker.ts', import.meta.url), { type: 'module' })
  const calls: Remote<GptWorker> = inWorker(worker, () => {
    started = null
    stop(calls)
    fail(new Error('the worker could not be started'))
  })
  failed.catch(() => {}) // whoever waits for an answer says it
  return (started = { calls, failed })
}
