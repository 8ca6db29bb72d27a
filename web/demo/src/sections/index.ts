// The page's sections, in order. To add one, write its slice and its component, name the slice in slices.ts,
// and add a line to `sections`.
// Every section but the first has its own chunk, which is fetched once the first screen is there.

import type { Component } from 'svelte'
import type { SectionProps } from '../page.svelte.ts'
import Opening from './opening/Opening.svelte'
import type { SectionId, SliceId } from './slices.ts'

type SectionComponent = Component<SectionProps<any>>

export interface Section {
  /** Also the section's anchor, and the prefix of its names in the address. */
  id: SectionId
  title: string
  /** What to remember of it, in a sentence or two: for the end of the page. */
  summary?: string
  /** The slices of the state that an embed shows and a reset sets back; by default its own. */
  state?: readonly SliceId[]
  /** Whether it opens the page: its title is then the page's. */
  opens?: boolean
  /** Once it was fetched. */
  component?: SectionComponent
  /** Its height in pixels at 1280 by 720 and at 360 by 740, reserved until it is mounted. */
  heights?: [wide: number, narrow: number]
  load?: () => Promise<{ default: SectionComponent }>
}

export const fetched = async (section: Section) => (section.component ??= (await section.load?.())?.default)

export const sections: readonly Section[] = [
  {
    id: 'opening',
    title: 'What layer normalization does',
    opens: true,
    state: ['example', 'story'],
    component: Opening,
  },
  {
    id: 'worked-example',
    title: 'How it is computed',
    summary: 'Layer norm subtracts a row’s mean and divides by its deviation: mean 0, variance almost 1.',
    state: ['example', 'worked-example'],
    heights: [563, 971],
    load: () => import('./worked-example/WorkedExample.svelte'),
  },
  {
    id: 'story',
    title: 'Inside a GPT',
    summary:
      'A GPT has two norms in each block and one at the end: 25 in the small GPT-2. Without them it babbles.',
    heights: [617, 1206],
    load: () => import('./story/Story.svelte'),
  },
  {
    id: 'training',
    title: 'Why it’s needed',
    summary: 'From three blocks on a small GPT learns with large steps only if it has norms.',
    state: ['training', 'story'],
    heights: [562, 1187],
    load: () => import('./training/Training.svelte'),
  },
  {
    id: 'half-precision',
    title: 'The norm that failed in silence',
    summary: 'In half precision large numbers can silence a norm, and nothing warns.',
    state: ['half-precision', 'story'],
    heights: [463, 1271],
    load: () => import('./half-precision/HalfPrecision.svelte'),
  },
  {
    id: 'scale-and-shift',
    title: 'Why scale and shift?',
    summary: 'A learned scale γ and shift β give each feature the size that the next layer needs.',
    heights: [466, 1003],
    load: () => import('./scale-and-shift/ScaleAndShift.svelte'),
  },
  {
    id: 'batch-norm',
    title: 'Layer, batch or RMS norm?',
    summary: 'Layer norm and RMSNorm look at one row, batch norm at one column.',
    heights: [548, 1585],
    load: () => import('./batch-norm/BatchNorm.svelte'),
  },
]
