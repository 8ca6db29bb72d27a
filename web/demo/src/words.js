// Text to tokens and back for the stories model. A token is a word with the space before it, or punctuation.

/**
 * @typedef {object} Tokenizer
 * @property {(text: string) => number[]} encode throws an Error whose message says which word is unknown
 * @property {(ids: readonly number[]) => string} decode
 * @property {(ids: readonly number[]) => string[]} texts of each token; joined they are the whole text
 * @property {number} start the token before every text
 * @property {number} stop the token that ends a text
 */

/** @param {readonly string[]} words the text of each token @returns {Tokenizer} */
export function tokenizerOf(words) {
  const ids = new Map(words.map((word, id) => [word, id]))
  /** @param {string} word */
  const idOf = (word) => {
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
    decode: (tokens) => tokens.map((id) => words[id]).join(''),
    texts: (tokens) => tokens.map((id) => words[id]),
  }
}
