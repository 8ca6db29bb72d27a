// The package's small GPT that writes stories: 451 kB, fetched only by the workers that run it.

import { GPTModel, GptLayersError } from 'gpt-layers'
import url from 'gpt-layers/stories/model.safetensors?url'
import words from 'gpt-layers/stories/words.json'
import { tokenizerOf } from './words.ts'

/** The text of each token. */
export { words }

export const tokenizer = tokenizerOf(words)

/** @returns 4 blocks, 80 wide, int8, in evaluation mode */
export async function loadStories(): Promise<GPTModel> {
  const read = async (cache: RequestCache) => GPTModel.fromPretrained(await fetch(url, { cache }))
  try {
    return await read('default')
  } catch (error) {
    // The browser may have kept something else than the model.
    if (error instanceof GptLayersError && error.code === 'VALUE') return read('reload')
    throw error
  }
}
