// Preset batches, each with a hint what to look at.

/** @import { Settings } from './slice.js' */

const CONSTANT = 2
const OUTLIER = 30
const OFFSET = 10000

/**
 * The same change for every number of the first sample.
 *
 * @param {number | ((value: number) => number)} change
 */
const first = (change) => Object.fromEntries([1, 2, 3, 4, 5].map((c) => [`x1${c}`, change]))

/**
 * @type {{
 *   name: string, data: Settings['data'], target: Settings['target'], look: string,
 *   change: Record<string, number | ((value: number) => number)>
 * }[]}
 */
export const PRESETS = [
  {
    name: 'the notebook',
    data: 'notebook',
    target: 'outputs',
    change: {},
    look: '', // the section's own sentences say this
  },
  {
    name: 'the whiteboard row',
    data: 'whiteboard',
    target: 'batch',
    change: {},
    look: 'The lecture’s four numbers: their mean is 2.15. Subtract it, and the four add up to 0; that is all that “mean 0” says.',
  },
  {
    name: 'a constant row',
    data: 'notebook',
    target: 'batch',
    change: first(CONSTANT),
    look: `Sample 1 is ${CONSTANT} throughout: nothing differs, its variance is 0, and only ε keeps the division from being 0 by 0. Set ε to 0.`,
  },
  {
    name: 'an outlier',
    data: 'notebook',
    target: 'batch',
    change: { x13: OUTLIER },
    look: `One ${OUTLIER} among five: it takes nearly all of the variance, so it ends near 2, and the four others are pressed together near −0.5.`,
  },
  {
    name: 'a large offset',
    data: 'notebook',
    target: 'batch',
    change: first((value) => value + OFFSET),
    look: `Sample 1 plus ${OFFSET}: the mean takes it away again. But out there a float32 comes in steps of 0.001, the mean as well: the result is off in its third decimal, and so is its own mean.`,
  },
  {
    name: 'the (5, 10, 3) tensor',
    data: 'rand',
    target: 'batch',
    change: {},
    look: 'Five tables of ten rows of three numbers. dim=-1 is still one row: there are 50 means and 50 variances.',
  },
]
