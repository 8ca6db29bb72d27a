// Node's workers and the browser's, under the same names.

export const isNode = typeof process === 'object' && typeof process.versions?.node === 'string'

/** @type {Partial<typeof import('node:worker_threads')>} */
const threads = isNode ? await import(/* @vite-ignore */ 'node:worker_threads') : {}

/** The browser's interface, which covers what both have in common. */
export const Worker = /** @type {typeof globalThis.Worker} */ (threads.Worker ?? globalThis.Worker)

/** In a worker: the port to the thread that started it. */
export const parent = /** @type {MessagePort} */ (/** @type {unknown} */ (threads.parentPort ?? globalThis))
