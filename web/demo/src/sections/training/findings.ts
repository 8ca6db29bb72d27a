// What was found: settings, and a sentence that tests/demo/training.test.js holds.

import type { Settings } from './compute.ts'

export const SMALL: Settings = { blocks: 3, rate: 0.001, weights: 'pytorch', seed: 2 }
/** What the guess is about. */
export const LARGE: Settings = { ...SMALL, rate: 0.02 }

export const FINDINGS: readonly { name: string; settings: Settings; says: string }[] = [
  {
    name: 'small steps',
    settings: SMALL,
    says: 'Both learn: with small steps, three blocks need no norms.',
  },
  {
    name: '12 blocks',
    settings: { ...SMALL, blocks: 12 },
    says: 'Both learn: with shortcuts and small steps, depth alone needs no norms.',
  },
  {
    name: 'large steps',
    settings: LARGE,
    says: 'Only the GPT with norms learns. Without them the loss explodes.',
  },
  {
    name: 'GPT-2’s weights',
    settings: { ...SMALL, weights: 'gpt2' },
    says: 'From weights as small as GPT-2’s, the GPT with norms learns much faster: its loss is below a third.',
  },
]
