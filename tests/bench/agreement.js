// Every contestant must compute the same result before it is measured.

/** @import { Prepared } from './contest.js' */
/** @import { Task } from './operations.js' */

/** Absolute below 1, relative above. It allows float32 sums of 3072 products in any order. */
export const TOLERANCE = 1e-4

/**
 * @param {Task} task
 * @param {Float32Array} expected our own result on one thread
 * @param {(Prepared & { name: string })[]} contestants
 * @throws {Error} naming the first element that differs
 */
export async function checkAgreement({ name: operation, tokens }, expected, contestants) {
  for (const { name, result } of contestants) {
    const found = await result()
    const at = `${operation}, T=${tokens}: ${name} should agree with ours within ${TOLERANCE}`
    const count = expected.length
    if (found.length !== count) throw new Error(`${at}, got ${found.length} numbers for ${count}`)
    const i = expected.findIndex((value, i) => {
      const difference = Math.abs(found[i] - value) / Math.max(1, Math.abs(value))
      return !(difference <= TOLERANCE) // !(a <= b) instead of a > b, so that a NaN differs
    })
    if (i >= 0) throw new Error(`${at}, got ${found[i]} for ${expected[i]} at element ${i}`)
  }
}
