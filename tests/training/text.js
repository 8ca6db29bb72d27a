// The text that the training runs learn, and what GPT-2's model takes of it.

import { readFileSync } from 'node:fs'

/**
 * The opening of Lewis Carroll's "Alice's Adventures in Wonderland" (1865), in the public domain; its quotation marks are
 * ASCII's here. As integers, by character.
 */
export function readText() {
  const text = readFileSync(new URL('alice.txt', import.meta.url), 'utf8')
  const characters = [...new Set(text)].sort()
  return { text, characters, tokens: Int32Array.from(text, (character) => characters.indexOf(character)) }
}

/**
 * Windows of a text, and the token that follows each token in them.
 *
 * @param {Int32Array} tokens
 * @param {number[]} starts
 * @param {number} length
 * @returns {{ ids: number[][], targets: number[][] }}
 */
export function windows(tokens, starts, length) {
  const slice = (/** @type {number} */ start) => [...tokens.subarray(start, start + length)]
  return { ids: starts.map(slice), targets: starts.map((start) => slice(start + 1)) }
}
