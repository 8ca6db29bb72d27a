// A GPT-2 that writes, in the worker that writes.

import { load } from 'gpt-layers'
import { inSentences, readCheckpoint, type Progress } from './checkpoint.ts'
import { gpt2Tokens } from './gpt2tokens.ts'

const MOST_THREADS = 4

/** @param source the file that `checkpoint.worker.ts` has made */
export async function loadGpt2(
  { file }: { file: Blob },
  { signal, onprogress }: { signal?: AbortSignal; onprogress?: (progress: Progress) => void } = {},
) {
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
