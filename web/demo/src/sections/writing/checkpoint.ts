// Reads a GPT-2 from a file or an address. What goes wrong is said in a sentence for the reader.

import { GptLayersError, type Gpt } from 'gpt-layers'
import { CheckpointError, download, sentenceOf } from './address.ts'

/** How many tokens GPT-2 has. */
const GPT2_TOKENS = 50257

/** How much was read, in bytes. */
export type Progress = { loaded: number; total: number }
type Model = InstanceType<Gpt['GPTModel']>

const NO_HEADS =
  'The file does not say how many attention heads its model has, and its sizes are not those of OpenAI’s GPT-2s. ' +
  'Load it in gpt-layers with its nHeads and save it: that file says it.'

/** The sizes of GPT-2 XL: the page draws a row for each norm, and a dot for each number. */
const MOST = { blocks: 48, width: 1600 }
const LEAST_CONTEXT = 32 // tokens

/**
 * A GPT-2 with int8 weights. The file is read in pieces, and float32 is never in memory.
 *
 * @param source a file, or an address
 * @throws {CheckpointError} and the signal's reason
 */
export async function readCheckpoint(
  gpt: Gpt,
  source: Blob | string,
  options?: { onProgress?: (progress: Progress) => void; signal?: AbortSignal },
): Promise<Model> {
  return inSentences(async () => {
    const from = typeof source === 'string' ? await download(new URL(source)) : source
    const model = await gpt.GPTModel.fromPretrained(from, { ...options, dtype: 'int8' })
    const fault = faultOf(model)
    if (!fault) return model
    model.dispose()
    throw new CheckpointError(fault)
  }, options?.signal)
}

/** @param model with int8 weights @returns why the page does not show it, or '' */
function faultOf(model: Model): string {
  const { vocabSize, embDim: width, contextLength: context } = model
  const blocks = model.trfBlocks.length
  if (vocabSize !== GPT2_TOKENS) {
    return `This model has ${vocabSize} tokens instead of GPT-2’s ${GPT2_TOKENS}.`
  }
  if (blocks > MOST.blocks || width > MOST.width) {
    const most = `${MOST.blocks} blocks of ${MOST.width} numbers`
    return `It has ${blocks} blocks of ${width} numbers: GPT-2 has at most ${most}.`
  }
  if (context < LEAST_CONTEXT) return `It reads only ${context} tokens at once: too few for a text.`
  const [damaged] = model.namedParameters().find(([, { data }]) => !data.every(Number.isFinite)) ?? []
  return damaged ? `The file is damaged: not all numbers of its ${damaged} are finite.` : ''
}

/** @throws {CheckpointError} instead of the package's errors */
export async function inSentences<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (signal?.aborted || error instanceof CheckpointError) throw error
    throw new CheckpointError(sentenceFor(error), { cause: error })
  }
}

/** Chooses by the error's code, because the package may change its messages; nHeads has no code of its own. */
function sentenceFor(error: unknown): string {
  if (!(error instanceof GptLayersError)) return sentenceOf(error)
  const { cause, code, message } = error
  if (code === 'NETWORK') return 'The connection was lost. Try again.'
  if (code === 'MEMORY') return 'There is not enough memory for it.'
  if (cause instanceof DOMException) return 'This browser cannot read the file.'
  const said = message.replace(/^[\w.]+: /, '') // without the package's function
  if (said.startsWith('config.nHeads')) return NO_HEADS
  if (code === 'VALUE' || code === 'SHAPE') return `This is not a whole GPT-2: ${said}.`
  return sentenceOf(error)
}
