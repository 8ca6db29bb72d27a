// The state of “Why scale and shift?”: a scale and a shift for each feature, and the story that is written.

import { flag, integer, numbers, seed, slice } from '../../fields.ts'

export const FEATURES = 6
export const SCALES = { min: 0, max: 3 }
export const SHIFTS = { min: -2, max: 2 }

export default slice(
  {
    learned: flag(true), // whether the trained model has its own γ and β
    seed: seed(5), // of its story
    scale: numbers(Array(FEATURES).fill(1), { each: SCALES }),
    shift: numbers(Array(FEATURES).fill(0), { each: SHIFTS }),
    feature: integer(0, { min: 0, max: FEATURES }), // that the sliders change; 0: all
  },
  { views: ['feature'] }, // only selects what is shown: nothing to undo
)
