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
  /** For each token and norm the deviation before the norm; NaN where the run has not been. */
  trail: Float32Array
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
    const trail = new Float32Array(run.ids.length * model.norms).fill(NaN)
    run.trail.forEach((variances, t) => variances && trail.set(variances.map(Math.sqrt), t * model.norms))
    if (run.step === null) throw new Error('set comes first')
    return { texts: engine.texts(run), at: run.at, ended: run.ended, trail, step: run.step }
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
