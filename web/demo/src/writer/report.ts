// What the worker tells the page.

import type { Step } from './engine.ts'

/** A text, and what there is to see of it. */
export interface RunReport {
  /** The text of each token; the first token, which begins every text, is ''. */
  texts: string[]
  /** The token that is looked at. */
  at: number
  /** Whether it can write no more. */
  ended: boolean
  step: Step
}

export interface Report {
  seed: number
  /** How many tokens were given: the start token and the prompt. */
  promptLength: number
  with: RunReport
  without: RunReport | null
}

/** How many tokens both texts have in common; Infinity where they do not differ, or there is no second one. */
export function sharedOf({ with: run, without }: Pick<Report, 'with' | 'without'>): number {
  const at = without ? run.texts.findIndex((text, i) => text !== without.texts[i]) : -1
  return at < 0 ? Infinity : at
}
