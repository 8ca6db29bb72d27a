// Five tasks for a class: what to do in which figure, the number to report, and the answer.

import type { Page } from '../../page.svelte.ts'
import type { SectionId } from '../slices.ts'

export interface Task {
  id: SectionId
  /** Shows the control of the task, once its link is followed. */
  show?: (page: Page) => void
  does: string
  asks: string
  answer: string
  why: string
}

export const TASKS: readonly Task[] = [
  {
    id: 'opening',
    does: 'Drag one dot of sample 1 as far as you like, or type a row of six numbers.',
    asks: 'How far from 0 can a single normalized number end?',
    answer: '2.2361',
    why: '√(n − 1) = √5: one number then makes all of the variance.',
  },
  {
    id: 'worked-example',
    show: (page) => page.look('worked-example', { step: 'divide' }),
    does: 'Change ε until sample 1’s variance after the norm is one half.',
    asks: 'Which ε is it?',
    answer: '0.0192',
    why: 'σ² / (σ² + ε) is one half where ε is as large as σ².',
  },
  {
    id: 'half-precision',
    show: (page) => page.edit('half-precision', { precision: 'float16' }),
    does: 'Drag the large number, or move it by arrow keys, until the variance is a number again.',
    asks: 'How large may it be?',
    answer: '141',
    why: 'The eight squares are added before the sum is divided by 8, and the sum may not pass 65,504.',
  },
  {
    id: 'batch-norm',
    does: 'Change one number of the batch of four, with layer norm and with batch norm.',
    asks: 'How many results change with each?',
    answer: '5 and 4',
    why: 'All of its row, which has five features; all of its column, which has four samples.',
  },
  {
    id: 'story',
    does: 'Count the norms in the figure.',
    asks: 'GPT-2 medium has 24 blocks. How many norms has it?',
    answer: '49',
    why: '2 · 24 + 1: two in each block, and one after the last.',
  },
]
