// Heavy work runs in a worker, so that the page stays responsive. A section's worker is a file beside the
// section:
//
//   import { expose } from '../../remote.js'
//   const lab = { async train(options, onprogress) { ...; await onprogress({ step, loss }); ... } }
//   expose(lab)
//   /** @typedef {typeof lab} Lab */
//
// The section calls the worker's functions as if they were local. Arguments and results are copied; a
// function passed as an argument stays in the page and the worker calls it.
//
//   /** @type {Remote<Lab>} */
//   const lab = inWorker(new Worker(new URL('./name.worker.js', import.meta.url), { type: 'module' }))
//   const result = await lab.train(options, callback(({ step }) => (progress = step)))
//   stop(lab)   // ends the worker, even in the middle of a call

import { proxy, releaseProxy, wrap, type ProxyMethods } from 'comlink'

/**
 * The functions of a worker, each returning a promise.
 *
 * @template T
 * @typedef {import('comlink').Remote<T>} Remote
 */
/** The functions of a worker, each returning a promise. */
export type Remote<T> = import('comlink').Remote<T>

export { expose } from 'comlink'
export const callback = proxy

/** @type {WeakMap<object, Worker>} */
const workers: WeakMap<object, Worker> = new WeakMap()

/**
 * @template T the functions that the worker exposes
 * @param {Worker} worker
 * @returns {Remote<T>}
 */
export function inWorker<T>(worker: Worker): Remote<T> {
  const remote = /** @type {Remote<T>} */ wrap(worker) as Remote<T>
  workers.set(remote, worker)
  return remote
}

/** @param {import('comlink').ProxyMethods} remote from inWorker */
export function stop(remote: ProxyMethods) {
  remote[releaseProxy]()
  workers.get(remote)?.terminate()
}
