// Whoever computes something else is not measured.

/** @import { Prepared } from './contest.js' */
/** @import { Task } from './operations.js' */

/** Absolute below 1 and relative above: float32 sums of 3072 products, in whatever order each takes them. */
export const TOLERANCE = 1e-4

/**
 * @param {Task} task
 * @param {Float32Array} expected our own result, on one thread
 * @param {(Prepared & { name: string })[]} contestants
 * @throws {Error} naming the first element that is off
 */
export async function checkAgreement({ name: operation, tokens }, expected, contestants) {
  for (const { name, result } of contestants) {
    const found = await result()
    const at = `${operation}, T=${tokens}: ${name} should agree with ours within ${TOLERANCE}`
    const count = expected.length
    if (found.length !== count) throw new Error(`${at}, got ${found.length} numbers for ${count}`)
    const i = expected.findIndex((value, i) => {
      const difference = Math.abs(found[i] - value) / Math.max(1, Math.abs(value))
      return !(difference <= TOLERANCE) // so that a NaN is off, too
    })
    if (i >= 0) throw new Error(`${at}, got ${found[i]} for ${expected[i]} at element ${i}`)
  }
}
