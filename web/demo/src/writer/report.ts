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
  model: Engine['model']
  seed: number
  /** How many tokens were given: the start token and the prompt. */
  promptLength: number
  /** How many words after the prompt both texts share. */
  from: number
  playing: boolean
  with: RunReport
  without: RunReport | null
}

export function snapshot(engine: Engine, playing: boolean): Report {
  const { settings, promptLength, model } = engine
  const runOf = (run: Engine['with']): RunReport => {
    if (run.step === null) throw new Error('set comes first')
    return { texts: engine.texts(run), at: run.at, ended: run.ended, step: run.step }
  }
  return {
    model,
    seed: settings.seed,
    promptLength,
    from: settings.from,
    playing,
    with: runOf(engine.with),
    without: engine.without && runOf(engine.without),
  }
}
