// Five tasks for a class: what to do in which figure, the number to report, and the answer.

import type { Page } from '../../page.svelte.ts'
import type { SectionId } from '../slices.ts'

export interface Task {
  id: SectionId
  /** Shows the control of the task, and that for which the answer holds, once its link is followed. */
  show?: (page: Page) => void
  does: string
  asks: string
  answer: string
  why: string
}

export const TASKS: readonly Task[] = [
  {
    id: 'opening',
    show: (page) => {
      page.reset('example')
      page.edit('story', { off: [] })
    },
    does: 'Drag one dot far away.',
    asks: 'How far from 0 can a normalized number end?',
    answer: '2.24',
    why: 'The limit is √(n − 1) = √5 = 2.2361: one number then makes all of the variance.',
  },
  {
    id: 'worked-example',
    show: (page) => {
      page.reset('example')
      page.look('worked-example', { step: 'divide' })
    },
    does: 'Change ε until sample 1’s variance becomes one half.',
    asks: 'Which ε is it?',
    answer: '0.0192',
    why: 'σ² / (σ² + ε) is one half where ε is as large as σ².',
  },
  {
    id: 'half-precision',
    show: (page) => {
      page.edit('story', { off: [] })
      page.reset('half-precision')
      page.edit('half-precision', { precision: 'float16' })
    },
    does: 'In float16 move the factor until σ² is a number.',
    asks: 'The 80 squares may add up to 65,504. How large may σ be?',
    answer: '28.6',
    why: 'σ² is their mean: σ may be √(65,504 / 80).',
  },
  {
    id: 'batch-norm',
    show: (page) => page.edit('batch-norm', { batch: 4, mode: 'training' }),
    does: 'Change one number of the batch of four.',
    asks: 'How many results of layer and of batch norm change?',
    answer: '5 and 4',
    why: 'Its row has five features, its column four samples.',
  },
  {
    id: 'story',
    does: 'Count the norms in the figure.',
    asks: 'GPT-2 medium has 24 blocks: how many norms?',
    answer: '49',
    why: '2 · 24 + 1: two in each block, and one after the last.',
  },
]
