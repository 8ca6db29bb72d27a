// What the norms of a GPT are called, who reads what they give, and what may stand in their place.

import { cellText } from '../numbers.ts'
import type { Replacement, Step } from './engine.ts'

/** What may stand in the place of a norm that is off. `say` comes before the norm's name. */
export const REPLACEMENTS: readonly { replacement: Replacement; name: string; say: string }[] = [
  { replacement: 'nothing', name: 'left out', say: 'without' },
  { replacement: 'mean', name: 'only − μ', say: 'only − μ in' },
  { replacement: 'plain', name: 'γ = 1, β = 0', say: 'γ = 1 and β = 0 in' },
]

export interface Norm {
  /** The norm's number in the model, counted from 1. */
  number: number
  /** Whether it is the first norm of its block. */
  first: boolean
  /** The part that gets the norm's output. */
  reads: string
  /** Where that part is, as words of a sentence. */
  where: string
}

/** @param norms two for each block, and the final one */
export function namesOf(norms: number): Norm[] {
  return Array.from({ length: norms }, (_, i) => {
    const number = i + 1
    if (number === norms)
      return { number, first: false, reads: 'next word', where: 'the choice of the next word' }
    const reads = i % 2 === 0 ? 'attention' : 'feed-forward'
    const where = `${reads} in block ${Math.floor(i / 2) + 1}`
    return { number, first: i % 2 === 0, reads, where }
  })
}

/** What a switch is called. */
export const labelOf = ({ number, where }: Norm) => `norm ${number}, before ${where}`

/** @returns the deviations at a norm */
export const deviationsOf = ({ stats }: Step, i: number): { before: number; after: number } => ({
  before: Math.sqrt(stats[4 * i + 1]),
  after: Math.sqrt(stats[4 * i + 3]),
})

/**
 * Why the text without some norms is another one: what the part behind the last of them gets.
 *
 * @param off from 1
 * @returns a sentence; '' if no norm is off
 */
export function consequence(off: readonly number[], withAll: Step, without: Step): string {
  const number = off.at(-1)
  const norms = withAll.stats.length / 4
  if (number === undefined || number > norms) return ''
  const [before, now] = [withAll, without].map((step) => cellText(deviationsOf(step, number - 1).after, 2))
  return `${namesOf(norms)[number - 1].where} gets σ = ${now} instead of ${before}`
}
