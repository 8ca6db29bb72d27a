// The text of the training runs, as tokens and as windows.

import { readFileSync } from 'node:fs'

/**
 * The opening of Lewis Carroll's "Alice's Adventures in Wonderland" (1865), which is in the public domain.
 * Its quotation marks are replaced by ASCII ones.
 *
 * @returns {{ text: string, characters: string[], tokens: Int32Array }} characters: each that occurs, sorted;
 *   tokens: the index in characters of each character of the text
 */
export function readText() {
  const text = readFileSync(new URL('alice.txt', import.meta.url), 'utf8')
  const characters = [...new Set(text)].sort()
  return { text, characters, tokens: Int32Array.from(text, (character) => characters.indexOf(character)) }
}

/**
 * Windows of a text, and for each token in them the token that follows.
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
