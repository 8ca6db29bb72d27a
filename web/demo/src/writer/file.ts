// A GPT of the reader, in the worker that writes: its file, and what its tokens are.

import { GPTModel, GptLayersError, load } from 'gpt-layers'
import { messageOf } from '../errors.ts'
import type { Tokenizer } from '../words.ts'
import { GPT2_TOKENS, hasGpt2Tokens, SHAKESPEARE, tokensOf } from './tokens.ts'

export interface ReadOptions {
  /** What the file does not say. */
  nHeads?: number
  onProgress?: (progress: { loaded: number; total: number }) => void
}

const MOST_THREADS = 4

/** The sizes of GPT-2 XL: the page draws a row for each norm, and a dot for each number. */
const MOST = { blocks: 48, width: 1600 }

/** @throws {Error} whose message is a sentence for the reader */
export async function loadFile(files: readonly File[], options: ReadOptions) {
  // One processor is left to the page, which draws.
  const threads = Math.max(1, Math.min(MOST_THREADS, (navigator.hardwareConcurrency ?? 1) - 1))
  // The builds with threads are not kept for a visit without the network.
  await load({ threads }).catch(async () => (await import('../load.ts')).loadPackage())
  try {
    const model = await readModel(files, options)
    return { model, slides: true, ...(await readAs(model.vocabSize)) }
  } catch (error) {
    throw new Error(sentenceOf(error), { cause: error })
  }
}

/**
 * A model with int8 weights. Its file is read in pieces, and float32 is never in memory.
 *
 * @param files one, or the parts of one; Hugging Face's config.json may be among them
 */
export async function readModel(files: readonly File[], options: ReadOptions = {}): Promise<GPTModel> {
  const { nHeads, ...rest } = options
  const isWeights = ({ name }: File) => !name.endsWith('.json')
  const parts = files.some(isWeights) ? files.filter(isWeights) : files
  const says = await files.find(({ name }) => name === 'config.json')?.text()
  const config = { ...(says && JSON.parse(says)), ...(nHeads && { nHeads }) }
  const source = parts.length > 1 ? Object.fromEntries(parts.map((part) => [part.name, part])) : parts[0]
  const model = await GPTModel.fromPretrained(source, { ...rest, config, dtype: 'int8' })
  const fault = faultOf(model)
  if (!fault) return model
  model.dispose()
  throw new GptLayersError('VALUE', fault)
}

/** @returns why the page does not show it, or '' */
function faultOf(model: GPTModel): string {
  const { embDim: width, trfBlocks } = model
  const blocks = trfBlocks.length
  if (blocks > MOST.blocks || width > MOST.width) {
    const most = `${MOST.blocks} blocks of ${MOST.width} numbers`
    return `source should have at most ${most}, as GPT-2 XL, got ${blocks} blocks of ${width}`
  }
  const [damaged] = model.namedParameters().find(([, { data }]) => !data.every(Number.isFinite)) ?? []
  return damaged ? `source should have finite numbers only, got others in ${damaged}` : ''
}

/** What went wrong, for the reader. The package says which part of its `source` is wrong. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof GptLayersError)) return `Something went wrong: ${messageOf(error)}.`
  if (error.code === 'MEMORY') return 'There is not enough memory for it.'
  const said = error.message.replace(/^[\w.]+: /, '').replace(/\bsource\b/, 'the file')
  return `${said[0].toUpperCase()}${said.slice(1)}.`
}

/** How a model's tokens are read until the reader gives its characters, and which tokens may be drawn. */
export async function readAs(
  vocabSize: number,
): Promise<{ tokenizer: Tokenizer; sampling?: { topK: number; suppressTokens: number[] } }> {
  if (!hasGpt2Tokens(vocabSize)) {
    const characters = vocabSize === SHAKESPEARE.length ? SHAKESPEARE : ''
    return { tokenizer: tokensOf(vocabSize, characters) }
  }
  const { gpt2Tokens } = await import('./gpt2tokens.ts').catch((cause) => {
    throw new GptLayersError('NETWORK', 'GPT-2’s tokens were not fetched: try again', { cause })
  })
  const unused = Array.from({ length: vocabSize - GPT2_TOKENS }, (_, i) => GPT2_TOKENS + i)
  return { tokenizer: gpt2Tokens, sampling: { topK: 40, suppressTokens: unused } }
}
