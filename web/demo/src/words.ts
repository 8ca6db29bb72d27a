// Text to tokens and back for the stories model. A token is a word with the space and the quotation
// mark before it, or other punctuation.

export interface Tokenizer {
  /** Throws an Error whose message says which word is unknown. */
  encode: (text: string) => number[]
  /** The text of each token; joined they are the whole text. */
  texts: (ids: readonly number[]) => string[]
  /** The token before every text. */
  start: number
  /** The token that ends a text. */
  stop: number
}

/** @param words the text of each token */
export function tokenizerOf(words: readonly string[]): Tokenizer {
  const ids = new Map(words.map((word, id) => [word, id]))
  const idOf = (word: string) => {
    // At a text's beginning a word may stand without its space.
    const id = ids.get(word) ?? ids.get(` ${word}`)
    if (id !== undefined) return id
    const known = `It learned ${words.length - 1} words for its stories, such as fox, dragon, bridge and balloon.`
    throw new Error(`The model does not know “${word.trim()}”. ${known}`)
  }
  return {
    start: 0,
    stop: 0,
    encode: (text) =>
      (
        text
          .trim()
          .replace(/\s+/g, ' ')
          .match(/ ?"?\w+|[^\w ]+/g) ?? []
      ).map(idOf),
    texts: (tokens) => tokens.map((id) => words[id]),
  }
}
