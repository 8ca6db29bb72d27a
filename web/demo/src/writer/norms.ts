// What the norms of a GPT are called, and what may stand in their place.

import { NORMS } from '../sections/story/slice.ts'
import type { Replacement, Step } from './engine.ts'

export { NORMS }

/** Each replacement's name, and what is said before the norms that it replaces. */
export const REPLACEMENTS: Record<Replacement, { name: string; phrase: string }> = {
  nothing: { name: 'is left out', phrase: 'without' },
  mean: { name: 'only subtracts μ', phrase: 'only − μ in' },
  rms: { name: 'subtracts no μ: RMSNorm', phrase: 'no − μ in' },
  plain: { name: 'has γ = 1, β = 0', phrase: 'γ = 1 and β = 0 in' },
  half: { name: 'computes in float16', phrase: 'float16 in' },
}

/** @param i of a norm, from 0 */
export const nameOf = (i: number): string =>
  i === NORMS - 1 ? 'final norm' : `norm ${1 + (i % 2)} of block ${1 + Math.floor(i / 2)}`

/** What a text without some norms is called, such as “without norm 2 of block 1”. @param off from 1 */
export function ablationName(replacement: Replacement, off: readonly number[]): string {
  const all = replacement === 'nothing' ? 'any norm' : `all ${NORMS} norms`
  const some = off.length > 1 ? `${off.length} norms` : nameOf(off[0] - 1)
  return `${REPLACEMENTS[replacement].phrase} ${off.length === NORMS ? all : some}`
}

/** A norm's input and output. @param i of the norm, from 0 */
export function rowsOf({ rows }: Step, i: number): number[][] {
  const length = rows.length / NORMS / 2
  return [2 * i, 2 * i + 1].map((row) => Array.from(rows.subarray(row * length, (row + 1) * length)))
}

/** The standard deviations of a norm's input and output. @param i of the norm, from 0 */
export const deviationsOf = ({ stats }: Step, i: number) => [1, 3].map((k) => Math.sqrt(stats[4 * i + k]))
