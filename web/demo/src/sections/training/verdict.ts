// What the losses of both networks say.

import { ALPHABET, type Pair } from './compute.ts'

/** The loss of a network that guesses each letter. */
export const GUESSING = Math.log(ALPHABET.length)
const LAST = 10 // steps
const HUGE = 1000 // a loss that is not written

/** The mean loss of the last steps: single losses go up and down. */
export function lossOf(losses: readonly number[]): number {
  const last = losses.slice(-LAST)
  return last.reduce((sum, loss) => sum + loss, 0) / last.length
}

export const lossText = (loss: number): string => (loss < HUGE ? loss.toFixed(2) : `over ${HUGE}`)

/** How a training went: once its loss is a third of a guess's, the network has learned. */
function outcome(losses: readonly number[]) {
  if (Math.max(...losses) > HUGE) return { one: 'its loss explodes', both: 'Both losses explode' }
  const loss = lossOf(losses)
  if (loss < GUESSING / 3) return { one: 'learns', both: 'Both learn' }
  if (loss < 0.9 * GUESSING) return { one: 'learns a part', both: 'Both learn a part' }
  return { one: 'learns nothing', both: 'Both learn nothing' }
}

/** What came of both trainings, in a sentence or two. */
export function verdict(losses: Pair<readonly number[]>): string {
  const [norms, none] = [losses.with, losses.without].map(outcome)
  const better = lossOf(losses.with) < lossOf(losses.without) ? 'with' : 'without'
  if (norms.one === none.one) return `${norms.both}. The loss is lower ${better} norms.`
  const without = none.one.startsWith('its') ? none.one : `it ${none.one}`
  return `The GPT with norms ${norms.one}; without them ${without}.`
}
