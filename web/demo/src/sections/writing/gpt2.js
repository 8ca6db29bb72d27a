// A GPT-2 that writes, in the worker that writes.

import { load } from 'gpt-layers'
import { inSentences, readCheckpoint } from './checkpoint.js'
import { gpt2Tokens } from './gpt2tokens.js'

const MOST_THREADS = 4

/** @import { Progress } from './checkpoint.js' */

/**
 * @param {{ file: Blob }} source the file that `checkpoint.worker.js` has made
 * @param {{ signal?: AbortSignal, onprogress?: (progress: Progress) => void }} options
 */
export async function loadGpt2({ file }, { signal, onprogress } = {}) {
  // One processor is left to the page, which draws.
  const threads = Math.max(1, Math.min(MOST_THREADS, (navigator.hardwareConcurrency ?? 1) - 1))
  const gpt = await inSentences(() => load({ threads }))
  try {
    const model = await readCheckpoint(gpt, file, { signal, onProgress: onprogress })
    return { gpt, model, tokenizer: gpt2Tokens, topK: 40, dispose: () => gpt.dispose() }
  } catch (error) {
    gpt.dispose()
    throw error
  }
}
