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
  /** The slices of the state that an embed shows and a reset sets back; by default its own. */
  state?: readonly SliceId[]
  /** Once it was fetched. */
  component?: SectionComponent
  /** What to remember of it, in a sentence or two, for a slide and the end of the page; once it was fetched. */
  summary?: string
  /** Its height in pixels at 1280 by 720 and at 360 by 740, reserved until it is mounted. */
  heights?: [wide: number, narrow: number]
  load?: () => Promise<{ default: SectionComponent; summary: string }>
}

export async function fetched(section: Section): Promise<SectionComponent | undefined> {
  if (section.load && !section.component) {
    const { default: component, summary } = await section.load()
    Object.assign(section, { component, summary })
  }
  return section.component
}

export const sections: readonly Section[] = [
  {
    id: 'opening',
    title: 'What layer normalization does',
    state: ['example', 'story'],
    component: Opening,
  },
  {
    id: 'worked-example',
    title: 'How it is computed',
    state: ['example', 'worked-example'],
    heights: [563, 971],
    load: () => import('./worked-example/WorkedExample.svelte'),
  },
  {
    id: 'story',
    title: 'Inside a GPT',
    heights: [617, 1240],
    load: () => import('./story/Story.svelte'),
  },
  {
    id: 'training',
    title: 'Why it’s needed',
    state: ['training', 'story'],
    heights: [562, 1187],
    load: () => import('./training/Training.svelte'),
  },
  {
    id: 'half-precision',
    title: 'The norm that failed in silence',
    state: ['half-precision', 'story'],
    heights: [498, 1317],
    load: () => import('./half-precision/HalfPrecision.svelte'),
  },
  {
    id: 'scale-and-shift',
    title: 'Why scale and shift?',
    heights: [466, 1003],
    load: () => import('./scale-and-shift/ScaleAndShift.svelte'),
  },
  {
    id: 'batch-norm',
    title: 'Layer, batch or RMS norm?',
    heights: [548, 1585],
    load: () => import('./batch-norm/BatchNorm.svelte'),
  },
]
