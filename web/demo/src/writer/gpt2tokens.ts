// GPT-2's tokenizer, of the library gpt-tokenizer. Its 50257 tokens are 0.6 MB: import it when a model
// has them. A token is a row of bytes, and may hold only a part of a character.
//
// The library's `decode` is not used: it keeps a part of a character from one call to the next.

import pieces from 'gpt-tokenizer/bpeRanks/r50k_base'
import { encode } from 'gpt-tokenizer/encoding/r50k_base'
import type { Tokenizer } from '../words.ts'

/** The token between two texts, the last of GPT-2's. */
const END_OF_TEXT = pieces.length
const AS_TEXT = { disallowedSpecial: new Set<string>() }
const encoder = new TextEncoder()

/** @returns UTF-8, or a part of it */
function bytesOf(id: number): Uint8Array {
  const piece = pieces[id] ?? '<|endoftext|>'
  return typeof piece === 'string' ? encoder.encode(piece) : Uint8Array.from(piece)
}

export const gpt2Tokens: Tokenizer & { stop: number } = {
  beginning: 'Once upon a time',
  stop: END_OF_TEXT,

  /** What a reader types is text, even `<|endoftext|>`. */
  encode: (text) => encode(text, AS_TEXT),

  /**
   * The text that each token adds: joined they are the text. A token that ends inside a character adds
   * nothing of this character; the token that completes it adds all of it.
   */
  texts(ids) {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    return ids.map((id) => decoder.decode(bytesOf(id), { stream: true }))
  },

  /** The text; of one token with a part of a character its bytes, such as ` \xf0\x9f`. */
  decode(ids) {
    const bytes = Uint8Array.from(ids.flatMap((id) => [...bytesOf(id)]))
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    } catch {
      if (ids.length > 1) return gpt2Tokens.texts(ids).join('')
      const shown = (byte: number) => (byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`)
      return Array.from(bytes, shown).join('')
    }
  },
}
