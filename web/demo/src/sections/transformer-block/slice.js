// The settings of this section.

import { choice, integer, slice, text } from '../../fields.js'
import { CONFIG, isTokens, NORMS } from './config.js'

/** Training steps: by a press of the button, and at most. */
export const STEPS = { usual: 200, max: 1000 }

/** @param {string} line @returns {boolean} whether the model can read it */
export const isLine = (line) => line.length >= 1 && line.length <= CONFIG.contextLength && isTokens(line)

const line = text('twinkle, twinkle')
const token = (/** @type {number} */ initial) => integer(initial, { min: 1, max: CONFIG.contextLength })

export default slice(
  {
    text: { ...line, read: (value) => (isLine(value) ? value : undefined) },
    seed: integer(123, { min: 0, max: 2 ** 32 - 1 }),
    steps: integer(0, { min: 0, max: STEPS.max }),
    norm: choice(NORMS[0], NORMS),
    block: integer(1, { min: 1, max: CONFIG.nLayers }),
    head: integer(1, { min: 1, max: CONFIG.nHeads }),
    query: token(16),
    key: token(10),
  },
  { views: ['norm', 'block', 'head', 'query', 'key'] },
)
