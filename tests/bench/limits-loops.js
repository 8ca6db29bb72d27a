// One thread's share of the loops in limits.c.

/** @import { Modules } from './limits.js' */

/**
 * @typedef {object} Exports of limits.c
 * @property {(flops: number, factor: number) => number} limit_multiply_add
 * @property {() => void} limit_fill
 * @property {(bytes: number, passes: number) => number} limit_read
 */

const READ_BYTES = 2 * 768 * 3072 * 4 // by all threads together, which share FeedForward's weights too
const PASSES = 8
const FLOPS = 200e6 // per thread; about 4 ms, so the message that starts a thread takes little in comparison

/**
 * @param {Modules} modules
 * @param {number} threads how many take part
 * @returns {Promise<Record<string, { call: () => unknown, amount: number }>>} the loops by name; amount:
 *   flops or bytes of one call in all threads together
 */
export async function loops(modules, threads) {
  /** @type {Record<string, { call: () => unknown, amount: number }>} */
  const found = {}
  for (const [build, module] of Object.entries(modules)) {
    const instance = await WebAssembly.instantiate(module)
    const exports = /** @type {Exports} */ (/** @type {unknown} */ (instance.exports))
    found[`multiply-add ${build}`] = {
      call: () => exports.limit_multiply_add(FLOPS, 0.5),
      amount: FLOPS * threads,
    }
    if (build !== 'simd') continue // All builds read at the same speed.
    exports.limit_fill()
    found.memory = {
      call: () => exports.limit_read(READ_BYTES / threads, PASSES),
      amount: READ_BYTES * PASSES,
    }
  }
  return found
}
