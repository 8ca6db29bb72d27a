// Reads a GPT-2 from a file or an address. What goes wrong is said in a sentence for the reader.

/** @import { Gpt } from 'gpt-layers' */

import { GptLayersError } from 'gpt-layers'
import { CheckpointError, download, megabytes } from './address.js'

/** How many tokens GPT-2 has. */
const GPT2_TOKENS = 50257

/** @typedef {{ loaded: number, total: number }} Progress in bytes */

/**
 * A GPT-2 with int8 weights. The file is read in pieces, and float32 is never in memory.
 *
 * @param {Gpt} gpt
 * @param {Blob | string} source a file, or an address
 * @param {(progress: Progress) => void} [onProgress]
 * @returns {Promise<InstanceType<Gpt['GPTModel']>>}
 * @throws {CheckpointError}
 */
export async function readCheckpoint(gpt, source, onProgress) {
  const from = typeof source === 'string' ? await download(new URL(source)) : source
  try {
    const config = { vocabSize: GPT2_TOKENS }
    return await gpt.GPTModel.fromSafetensors(from, { dtype: 'int8', config, onProgress })
  } catch (error) {
    throw new CheckpointError(sentenceFor(error), { cause: error })
  }
}

/** @param {unknown} error of GPTModel.fromSafetensors @returns {string} */
function sentenceFor(error) {
  if (!(error instanceof GptLayersError)) return `It cannot be read: ${error}.`
  const { code, message } = error
  if (code === 'NETWORK') return 'The connection was lost. Try again.'
  if (code === 'MEMORY') return 'There is not enough memory for it.'
  const [, length, whole] = /got (\d+) bytes instead of (\d+)/.exec(message) ?? []
  if (whole) {
    const [here, all] = [Number(length), Number(whole)].map(megabytes)
    return `A part of the file is missing: it has ${here} of ${all}. Download it again.`
  }
  const [, tokens] = /config\.vocabSize should be (\d+)/.exec(message) ?? []
  if (tokens) return `This model has ${tokens} tokens instead of GPT-2’s ${GPT2_TOKENS}.`
  const [, instead] = /should be a safetensors file, got (.*)/.exec(message) ?? []
  if (instead) return `This is not a safetensors file, but ${instead}.`
  return `This is not a GPT-2: ${message.replace(/^[\w.]+: /, '')}.`
}
