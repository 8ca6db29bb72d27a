// What was found: settings, and a sentence that tests/demo/training.test.js holds.

import type { Settings } from './compute.ts'

interface Finding {
  name: string
  settings: Settings
  says: string
}

/** What the guess is about. */
export const LARGE: Finding = {
  name: 'large steps',
  settings: { blocks: 3, rate: 0.015, weights: 'pytorch', seed: 123 },
  says: 'Only the GPT with norms learns. Without them the loss explodes.',
}

export const FINDINGS: readonly Finding[] = [
  {
    name: 'small steps',
    settings: { blocks: 3, rate: 0.001, weights: 'pytorch', seed: 123 },
    says: 'Both learn: with small steps, three blocks need no norms.',
  },
  {
    name: '12 blocks',
    settings: { blocks: 12, rate: 0.001, weights: 'pytorch', seed: 123 },
    says: 'Both learn: with shortcuts and small steps, depth alone needs no norms.',
  },
  LARGE,
  {
    name: 'GPT-2’s weights',
    settings: { blocks: 3, rate: 0.001, weights: 'gpt2', seed: 123 },
    says: 'From weights as small as GPT-2’s, the GPT with norms learns much faster: its loss is below a third.',
  },
]
