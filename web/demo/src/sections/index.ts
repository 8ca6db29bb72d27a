// The page's sections, in order. To add one, write its slice and its component, and add a line to `slices`
// and to `sections`.
// A section's `load` is called when the reader comes near, so every section but the first has its own chunk.

import type { Gpt } from 'gpt-layers'
import type { Component } from 'svelte'
import type { StateOf } from '../fields.ts'
import type { Page } from '../page.svelte.ts'
import batchNorm from './batch-norm/slice.ts'
import deepStack from './deep-stack/slice.ts'
import example from '../example-slice.ts'
import divisor from './divisor/slice.ts'
import feedForward from './feed-forward/slice.ts'
import gelu from './gelu/slice.ts'
import Opening from './opening/Opening.svelte'
import opening from './opening/slice.ts'
import scaleAndShift from './scale-and-shift/slice.ts'
import story from './story/slice.ts'
import transformerBlock from './transformer-block/slice.ts'
import workedExample from './worked-example/slice.ts'
import writing from './writing/slice.ts'

/** The page's state: what several sections share, and each section's own slice, by the section's id. */
export const slices = {
  example,
  opening,
  story,
  'worked-example': workedExample,
  'deep-stack': deepStack,
  'scale-and-shift': scaleAndShift,
  'transformer-block': transformerBlock,
  'batch-norm': batchNorm,
  divisor,
  writing,
  gelu,
  'feed-forward': feedForward,
}

export type States = { [Id in keyof typeof slices]: StateOf<(typeof slices)[Id]> }

export type SliceId = keyof States

export type SectionId = Exclude<SliceId, 'example'>

export type SectionProps<Id extends SectionId> = { page: Page; gpt: Gpt; id: Id }

type SectionComponent = Component<SectionProps<any>>

export interface Section {
  /** Also the section's anchor, and the prefix of its names in the address. */
  id: SectionId
  title: string
  /** The slices of the state that an embed shows and a reset sets back; by default its own. */
  state?: readonly SliceId[]
  /** Whether it opens the page: its title is then the page's. */
  opens?: boolean
  /** Once it was fetched. */
  component?: SectionComponent
  load?: () => Promise<{ default: SectionComponent }>
}

export const fetched = async (section: Section) => (section.component ??= (await section.load?.())?.default)

export const sections: readonly Section[] = [
  {
    id: 'opening',
    title: 'What layer normalization does',
    opens: true,
    state: ['example', 'opening'],
    component: Opening,
  },
  { id: 'story', title: 'A story without it', load: () => import('./story/Story.svelte') },
  {
    id: 'worked-example',
    title: 'How it is computed',
    state: ['example', 'worked-example'],
    load: () => import('./worked-example/WorkedExample.svelte'),
  },
  { id: 'deep-stack', title: 'Why it’s needed', load: () => import('./deep-stack/DeepStack.svelte') },
  {
    id: 'scale-and-shift',
    title: 'Why scale and shift?',
    load: () => import('./scale-and-shift/ScaleAndShift.svelte'),
  },
  {
    id: 'transformer-block',
    title: 'Where it sits in GPT',
    load: () => import('./transformer-block/TransformerBlock.svelte'),
  },
  {
    id: 'batch-norm',
    title: 'Layer, batch or RMS norm?',
    load: () => import('./batch-norm/BatchNorm.svelte'),
  },
  {
    id: 'divisor',
    title: 'n or n − 1?',
    state: ['example', 'divisor'],
    load: () => import('./divisor/Divisor.svelte'),
  },
  {
    id: 'writing',
    title: 'Watch every layer norm at work',
    load: () => import('./writing/Writing.svelte'),
  },
  { id: 'gelu', title: 'Appendix: GELU', load: () => import('./gelu/Gelu.svelte') },
  {
    id: 'feed-forward',
    title: 'Appendix: FeedForward',
    load: () => import('./feed-forward/FeedForward.svelte'),
  },
]
