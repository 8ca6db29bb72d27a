// The axis of the figure “Inside a GPT”. A number's distance from the middle is proportional to its square root.

export interface Axis {
  /** The ends of the axis are −limit and limit. The limit is a power of 4: 1, 4, 16 ... */
  limit: number
  /** The number of words since one last needed more than half of the axis. */
  words: number
}

export const FIRST_AXIS: Axis = { limit: 1, words: 0 }

/** The axis becomes half as wide after this many words that did not need more than half of it. */
const WORDS = 12

/**
 * Returns the axis for the next word. All numbers are on it. It becomes wider at once. It becomes narrower at once
 * if a quarter of its width is enough. If half is enough, it waits for some words, so that it seldom changes.
 */
export function nextAxis({ limit, words }: Axis, numbers: Float32Array): Axis {
  const most = numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 1)
  const needed = Number.isFinite(most) ? 4 ** Math.ceil(Math.log2(most) / 2) : 4 ** 9
  const narrower = needed < limit ? words + 1 : 0
  return needed > limit || needed <= limit / 16 || narrower === WORDS
    ? { limit: needed, words: 0 }
    : { limit, words: narrower }
}
