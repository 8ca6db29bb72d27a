// The package's small GPT that writes stories: 451 kB, fetched only by the workers that run it.

import { GPTModel } from 'gpt-layers'
import url from 'gpt-layers/stories/model.safetensors?url'
import words from 'gpt-layers/stories/words.json'
import { tokenizerOf } from './words.ts'

/** The text of each token. */
export { words }

export const tokenizer = tokenizerOf(words)

/** @returns 4 blocks, 80 wide, int8, in evaluation mode */
export const loadStories = async (): Promise<GPTModel> => GPTModel.fromPretrained(await fetch(url))
