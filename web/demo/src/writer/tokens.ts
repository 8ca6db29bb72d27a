// What the tokens of a reader's GPT are: characters, or numbers that only its owner can read.

import type { Tokenizer } from '../words.ts'

/** GPT-2's tokens. A vocabulary may be padded: nanoGPT's has 50304. */
export const GPT2_TOKENS = 50257
const MOST_PADDED = 51200

export const hasGpt2Tokens = (vocabSize: number) => vocabSize >= GPT2_TOKENS && vocabSize <= MOST_PADDED

/** The characters of nanoGPT's shakespeare_char, in their order. */
export const SHAKESPEARE = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** @param characters each is a token; none if the tokens are numbers below `count` */
export const tokensOf = (count: number, characters: string): Tokenizer =>
  characters ? characterTokens([...characters]) : numberTokens(count)

function characterTokens(characters: readonly string[]): Tokenizer {
  const ids = new Map(characters.map((character, id) => [character, id]))
  const idOf = (character: string) => {
    const id = ids.get(character)
    if (id === undefined) throw new Error(`The model does not know “${character}”.`)
    return id
  }
  return {
    beginning: characters.find((character) => character.trim()) ?? characters[0],
    encode: (text) => Array.from(text, idOf),
    decode: (tokens) => tokens.map((id) => characters[id]).join(''),
    texts: (tokens) => tokens.map((id) => characters[id]),
  }
}

const numberTokens = (count: number): Tokenizer => ({
  beginning: '0',
  encode: (text) =>
    (text.match(/[^\s,]+/g) ?? []).map((number) => {
      if (/^\d+$/.test(number) && Number(number) < count) return Number(number)
      throw new Error(`Type numbers from 0 to ${count - 1}, with spaces between them.`)
    }),
  decode: (tokens) => tokens.join(' '),
  texts: (tokens) => tokens.map((id) => ` ${id}`),
})
