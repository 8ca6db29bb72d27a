// One thread's share of the loops in limits.c.

/** @import { Modules } from './limits.js' */

const READ_BYTES = 2 * 768 * 3072 * 4 // all threads together, as they share FeedForward's weights
const PASSES = 8
const FLOPS = 200e6 // about 4 ms, in each thread: long beside the message that starts it

/**
 * @param {Modules} modules
 * @param {number} threads how many take part
 * @returns {Promise<Record<string, { call: () => unknown, amount: number }>>} the loops by name
 *   amount: flops or bytes of one call, in all threads together
 */
export async function loops(modules, threads) {
  const found = {}
  for (const [build, module] of Object.entries(modules)) {
    const exports = /** @type {any} */ ((await WebAssembly.instantiate(module)).exports)
    found[`multiply-add ${build}`] = {
      call: () => exports.limit_multiply_add(FLOPS, 0.5),
      amount: FLOPS * threads,
    }
    if (build !== 'simd') continue // reading is the same in every build
    exports.limit_fill()
    found.memory = {
      call: () => exports.limit_read(READ_BYTES / threads, PASSES),
      amount: READ_BYTES * PASSES,
    }
  }
  return found
}
