// The configuration of this section's small GPT. A file of its own, because the first load reads the address
// with it.

/** The printable characters of ASCII are the tokens, from the space on. */
export const FIRST = ' '.charCodeAt(0)
const LAST = '~'.charCodeAt(0)

export const CONFIG = Object.freeze({
  vocabSize: LAST - FIRST + 1,
  contextLength: 24,
  embDim: 64,
  nHeads: 4,
  nLayers: 3,
  dropRate: 0,
  qkvBias: false,
})

/** The norms in the order that the data passes them: the model's names for them. */
export const NORMS = Object.freeze([
  ...Array.from({ length: CONFIG.nLayers }, (_, i) => [
    `trf_blocks.${i}.norm1`,
    `trf_blocks.${i}.norm2`,
  ]).flat(),
  'final_norm',
])

/** @param {string} text @returns {boolean} whether every character is a token */
export const isTokens = (text) => /^[ -~]*$/.test(text)
