// The page's state: the slice of each section.

import example from '../example-slice.ts'
import type { StateOf } from '../fields.ts'
import batchNorm from './batch-norm/slice.ts'
import halfPrecision from './half-precision/slice.ts'
import scaleAndShift from './scale-and-shift/slice.ts'
import story from './story/slice.ts'
import training from './training/slice.ts'
import workedExample from './worked-example/slice.ts'

/** The page's state: what several sections share, and each section's own slice, by the section's id. */
export const slices = {
  example,
  story,
  'worked-example': workedExample,
  training,
  'half-precision': halfPrecision,
  'scale-and-shift': scaleAndShift,
  'batch-norm': batchNorm,
}

export type States = { [Id in keyof typeof slices]: StateOf<(typeof slices)[Id]> }

export type SliceId = keyof States

/** The opening shows the state of others, and has none of its own. */
export type SectionId = Exclude<SliceId, 'example'> | 'opening'
