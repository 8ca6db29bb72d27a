// What the fuzzers of files share.

import fc from 'fast-check'

/**
 * Checks many files.
 *
 * @template T
 * @param {fc.Arbitrary<T>} files
 * @param {(drawn: T) => Promise<boolean>} check whether the file was read; throws a Finding
 * @param {number} seed
 * @param {number} count
 * @returns {Promise<{ read: number, finding: { message: string, drawn: T } | null }>}
 */
export async function fuzzFiles(files, check, seed, count) {
  let read = 0
  const property = fc.asyncProperty(files, async (drawn) => {
    if (await check(drawn)) read++
  })
  const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: count })
  if (!failed) return { read, finding: null }
  const [drawn] = /** @type {[T]} */ (counterexample)
  return { read, finding: { message: String(errorInstance), drawn } }
}
