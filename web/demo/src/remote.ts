// Heavy work runs in a worker, so that the page stays responsive. Its functions are called as if they were local:
// sections/training/training.worker.ts and run.svelte.ts are an example. Arguments and results are copied; a function
// that is passed by `proxy` stays in the page, and the worker calls it.

import { expose, proxy, releaseProxy, wrap, type ProxyMethods } from 'comlink'

export { expose, proxy }

/** The functions of a worker, each returning a promise. */
export type Remote<T> = import('comlink').Remote<T>

const workers: WeakMap<object, Worker> = new WeakMap()

/**
 * The browser keeps a call until the worker's script has run, which exposes the functions.
 *
 * @template T the functions that the worker exposes
 * @param failed is called when the worker cannot be started, or has an error later
 */
export function inWorker<T>(worker: Worker, failed: () => void): Remote<T> {
  worker.addEventListener('error', failed)
  const remote = wrap<T>(worker)
  workers.set(remote, worker)
  return remote
}

/** Ends the worker, even in the middle of a call. @param remote from inWorker */
export function stop(remote: ProxyMethods) {
  remote[releaseProxy]()
  workers.get(remote)?.terminate()
}
