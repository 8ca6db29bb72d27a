// Heavy work goes on in a worker, and the page stays quick. A section's worker is a file of its own beside it,
//
//   import { expose } from '../../worker.js'
//   expose({ async train(options, onprogress) { ...; await onprogress({ step, loss }); ... } })
//
// and the section calls it as if it were here; what comes and goes is copied, but functions, which stay and are called:
//
//   const lab = inWorker(new Worker(new URL('./lab.js', import.meta.url), { type: 'module' }))
//   const result = await lab.train(options, callback(({ step }) => (progress = step)))
//   stop(lab)   // ends the worker, whatever it is at

import { proxy, releaseProxy, wrap } from 'comlink'

export { expose } from 'comlink'
export const callback = proxy

/** @type {WeakMap<object, Worker>} */
const workers = new WeakMap()

/** @param {Worker} worker that exposes functions @returns {any} the same functions, each giving a promise */
export function inWorker(worker) {
  const remote = wrap(worker)
  workers.set(remote, worker)
  return remote
}

/** @param {any} remote from inWorker */
export function stop(remote) {
  remote[releaseProxy]()
  workers.get(remote)?.terminate()
}
