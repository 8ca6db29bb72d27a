// Heavy work runs in a worker, so that the page stays responsive. Its functions are called as if they were local:
// sections/training/training.worker.ts and run.svelte.ts are an example. Arguments and results are copied; a function
// that is passed by `proxy` stays in the page, and the worker calls it.

import { expose as exposeCalls, proxy, releaseProxy, wrap, type Endpoint, type ProxyMethods } from 'comlink'

/** The functions of a worker, each returning a promise. */
export type Remote<T> = import('comlink').Remote<T>

export { proxy }

/** What a worker says when it can be called. */
const STARTED = 'started'

/** How often a worker is started. WebKit fails at times, with an error event; the second try succeeds. */
const TRIES = 2

/** Lets the page call functions; in a worker. */
export function expose(functions: object) {
  exposeCalls(functions)
  postMessage(STARTED)
}

/** What ends the worker of a remote. */
const ends: WeakMap<object, () => void> = new WeakMap()

/**
 * Starts a worker. Calls wait until it has started.
 *
 * @template T the functions that the worker exposes
 * @param failed is called when the worker cannot be started, or has an error later
 */
export function inWorker<T>(create: () => Worker, failed: () => void): Remote<T> {
  let worker: Worker
  const started = new Promise<Worker>((resolve) => {
    function start(tries: number) {
      worker = create()
      worker.addEventListener('message', ({ data }) => {
        if (data !== STARTED) return
        tries = 1 // a later error is not a failed start: the worker is not started again
        resolve(worker)
      })
      worker.addEventListener('error', () => {
        if (tries === 1) return failed()
        worker.terminate()
        start(tries - 1)
      })
    }
    start(TRIES)
  })
  const endpoint: Endpoint = {
    postMessage: async (message: unknown, transfer: Transferable[] = []) =>
      (await started).postMessage(message, transfer),
    addEventListener: async (type, listener) => (await started).addEventListener(type, listener),
    removeEventListener: async (type, listener) => (await started).removeEventListener(type, listener),
  }
  const remote = wrap(endpoint) as Remote<T>
  ends.set(remote, () => worker.terminate())
  return remote
}

/** Ends the worker, even in the middle of a call. @param remote from inWorker */
export function stop(remote: ProxyMethods) {
  remote[releaseProxy]()
  ends.get(remote)?.()
}
