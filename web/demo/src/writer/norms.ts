// What the norms of a GPT are called, and what may stand in their place.

import type { Replacement, Step } from './engine.ts'

/** Each replacement's name, and what is said before the norms that it replaces. */
export const REPLACEMENTS: Record<Replacement, { name: string; phrase: string }> = {
  nothing: { name: 'is left out', phrase: 'without' },
  mean: { name: 'only subtracts μ', phrase: 'only − μ in' },
  rms: { name: 'subtracts no μ: RMSNorm', phrase: 'no − μ in' },
  plain: { name: 'has γ = 1, β = 0', phrase: 'γ = 1 and β = 0 in' },
  half: { name: 'computes in float16', phrase: 'float16 in' },
}

/** @param i of a norm, from 0 @param norms two in each block, and the final one */
export const nameOf = (i: number, norms: number): string =>
  i === norms - 1 ? 'final norm' : `norm ${1 + (i % 2)} of block ${1 + Math.floor(i / 2)}`

/** What a text without some norms is called, such as “without norm 2 of block 1”. @param off from 1 */
export function ablationName(replacement: Replacement, off: readonly number[], norms: number): string {
  if (off.length === 0) return 'all norms on'
  const all = replacement === 'nothing' ? 'any norm' : `all ${norms} norms`
  const some = off.length > 1 ? `${off.length} norms` : nameOf(off[0] - 1, norms)
  return `${REPLACEMENTS[replacement].phrase} ${off.length === norms ? all : some}`
}

/** How many norms a step has gone through. */
export const normsOf = ({ stats }: Pick<Step, 'stats'>): number => stats.length / 4

/** A norm's input and output. @param i of the norm, from 0 */
export function rowsOf({ rows, stats }: Step, i: number): number[][] {
  const length = rows.length / normsOf({ stats }) / 2
  return [2 * i, 2 * i + 1].map((row) => Array.from(rows.subarray(row * length, (row + 1) * length)))
}

/** The standard deviations of a norm's input and output. @param i of the norm, from 0 */
export const deviationsOf = (
  { stats }: Pick<Step, 'stats'>,
  i: number,
): { before: number; after: number } => ({
  before: Math.sqrt(stats[4 * i + 1]),
  after: Math.sqrt(stats[4 * i + 3]),
})
