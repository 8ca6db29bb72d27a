// The axis of the figure that follows a row through the GPT. Places go with the square root of the numbers.

export interface Axis {
  /** The axis goes from −limit to limit, a power of 4. */
  limit: number
  /** For how many words in a row half of its width has been enough. */
  words: number
}

export const FIRST_AXIS: Axis = { limit: 1, words: 0 }

/** Words in a row for which half of the width must be enough before the axis narrows. */
const WORDS = 12

/**
 * The axis for the next word, which shows every number. It widens at once. It narrows at once where a quarter of its
 * width is enough, and where half is enough only after some words, so that it does not change with each word.
 */
export function nextAxis({ limit, words }: Axis, numbers: Float32Array): Axis {
  const most = numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 1)
  const needed = Number.isFinite(most) ? 4 ** Math.ceil(Math.log2(most) / 2) : 4 ** 9
  const narrower = needed < limit ? words + 1 : 0
  return needed > limit || needed <= limit / 16 || narrower === WORDS
    ? { limit: needed, words: 0 }
    : { limit, words: narrower }
}
