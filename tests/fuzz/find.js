// What the fuzzers share: drawing inputs until one breaks a promise, which errors the package may throw, and what
// holds for every file.

/** @import { Gpt } from '../lib/support.js' */
/** @import { Witness } from './witness.js' */

import fc from 'fast-check'
import { GptLayersError } from 'gpt-layers'
import { streamOf } from '../lib/tensorfile.js'
import { Finding } from './witness.js'

/**
 * Checks many inputs. One that breaks a promise is made as small as can be.
 *
 * @template T
 * @param {fc.Arbitrary<T>} inputs
 * @param {(input: T) => Promise<number | boolean>} check throws a Finding
 * @param {number} seed
 * @param {number} runs how many
 * @returns {Promise<{ count: number, finding: { message: string, input: T } | null }>} count: the sum of what
 *   `check` returned
 */
export async function find(inputs, check, seed, runs) {
  let count = 0
  const property = fc.asyncProperty(inputs, async (input) => {
    count += Number(await check(input))
  })
  const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: runs })
  if (!failed) return { count, finding: null }
  const [input] = /** @type {[T]} */ (counterexample)
  const message = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  return { count, finding: { message, input } }
}

/**
 * @param {Promise<unknown>} checked
 * @returns {Promise<string | null>} the message of its Finding
 */
export const findingOf = (checked) =>
  checked.then(
    () => null,
    (error) => error.message,
  )

/**
 * @param {unknown} error
 * @param {readonly string[]} codes those that may come
 * @param {number} most characters of a message
 * @returns {GptLayersError}
 * @throws {Finding} unless the package may throw it
 */
export function checkError(error, codes, most) {
  if (error instanceof Finding) throw error
  if (!(error instanceof GptLayersError)) {
    const text = error instanceof Error ? error.stack?.split('\n').slice(0, 6).join('\n') : String(error)
    throw new Finding(`threw what is not a GptLayersError: ${text}`, { cause: error })
  }
  const { code, message } = error
  if (!codes.includes(code)) throw new Finding(`threw ${code}: ${message}`, { cause: error })
  if (message.length > most)
    throw new Finding(`threw a message of ${message.length} characters: ${message.slice(0, 200)}`)
  return error
}

/** The codes of errors about a file. */
export const OF_FILES = ['TYPE', 'VALUE', 'UNSUPPORTED', 'MEMORY', 'SHAPE']

/**
 * Checks that GPTModel.fromPretrained makes the same of a file and of a stream of it, and leaves nothing.
 *
 * @param {{ gpt: Gpt, witness: Witness }} watched
 * @param {Uint8Array} file
 * @param {readonly number[]} chunks the sizes of the stream's chunks, again and again
 * @param {object} options
 * @throws {Finding}
 */
export async function checkStream({ gpt, witness }, file, chunks, options) {
  const read = async (/** @type {Uint8Array | ReadableStream} */ source) => {
    try {
      const model = await gpt.GPTModel.fromPretrained(source, options)
      const text = Buffer.from(gpt.saveSafetensors(model, { names: 'ours' })).toString('base64')
      model.dispose()
      return text
    } catch (error) {
      const { code, message } = checkError(error, OF_FILES, 1500)
      // A stream does not tell how many bytes it has.
      return `${code}: ${message.replace(/(?<=safetensors file, )got (\d+ bytes|more than).*/, '')}`
    }
  }
  const count = witness.blocks.size
  witness.begin()
  const [whole, streamed] = [await read(file), await read(streamOf(file, chunks))]
  witness.end([])
  if (whole !== streamed) throw new Finding(`the whole file gives ${whole}, a stream of it ${streamed}`)
  if (witness.blocks.size !== count) throw new Finding('a file left blocks in memory')
}
