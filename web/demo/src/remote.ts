// Heavy work runs in a worker, so that the page stays responsive. A section's worker is a file beside the
// section:
//
//   import { expose } from '../../remote.ts'
//   const lab = { async train(options, onprogress) { ...; await onprogress({ step, loss }); ... } }
//   expose(lab)
//   export type Lab = typeof lab
//
// The section calls the worker's functions as if they were local. Arguments and results are copied; a
// function passed as an argument stays in the page and the worker calls it.
//
//   const worker = new Worker(new URL('./name.worker.ts', import.meta.url), { type: 'module' })
//   const lab: Remote<Lab> = inWorker(worker)
//   const result = await lab.train(options, callback(({ step }) => (progress = step)))
//   stop(lab)   // ends the worker, even in the middle of a call
//
// WebKit fails at times to start a worker: try TRIES times, at the worker's `error`.

import { proxy, releaseProxy, wrap, type ProxyMethods } from 'comlink'

/** The functions of a worker, each returning a promise. */
export type Remote<T> = import('comlink').Remote<T>

export const TRIES = 2

export { expose } from 'comlink'
export const callback = proxy

const workers: WeakMap<object, Worker> = new WeakMap()

/** @template T the functions that the worker exposes */
export function inWorker<T>(worker: Worker): Remote<T> {
  const remote = wrap(worker) as Remote<T>
  workers.set(remote, worker)
  return remote
}

/** @param remote from inWorker */
export function stop(remote: ProxyMethods) {
  remote[releaseProxy]()
  workers.get(remote)?.terminate()
}
