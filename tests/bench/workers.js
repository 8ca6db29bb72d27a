// Node's workers and the browser's, behind one name each.

export const isNode = typeof process === 'object' && typeof process.versions?.node === 'string'

const threads = isNode ? await import(/* @vite-ignore */ 'node:worker_threads') : globalThis

/** @type {any} */
export const Worker = threads.Worker

/** Within a worker: where messages from the one who started it arrive. @type {any} */
export const parent = threads.parentPort ?? globalThis
