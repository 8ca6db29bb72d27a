// What the worker tells the page.

import type { Engine, Step } from './engine.ts'

/** A text, and what there is to see of it. */
export interface RunReport {
  /** The text of each token; the first token, which begins every text, is ''. */
  texts: string[]
  /** The token that is looked at. */
  at: number
  /** Why it can write no more. */
  ended: 'end' | 'full' | 'overflow' | null
  step: Step
}

export interface Report {
  seed: number
  /** How many tokens were given: the start token and the prompt. */
  promptLength: number
  /** How many words after the prompt both texts share. */
  from: number
  with: RunReport
  without: RunReport | null
}

/** How many tokens both texts have in common; Infinity where they do not differ, or there is no second one. */
export function sharedOf({ with: run, without }: Pick<Report, 'with' | 'without'>): number {
  const at = without ? run.texts.findIndex((text, i) => text !== without.texts[i]) : -1
  return at < 0 ? Infinity : at
}

export function snapshot(engine: Engine): Report {
  const { settings, promptLength } = engine
  const runOf = (run: Engine['with']): RunReport => {
    if (run.step === null) throw new Error('set comes first')
    return { texts: engine.texts(run), at: run.at, ended: run.ended, step: run.step }
  }
  return {
    seed: settings.seed,
    promptLength,
    from: settings.from,
    with: runOf(engine.with),
    without: engine.without && runOf(engine.without),
  }
}
