// What the worker tells the page.

import type { Engine, Moment } from './engine.ts'

/** A text, and what there is to see of it. */
export interface Lane {
  /** The text of each token; the first token, which begins every text, is ''. */
  texts: string[]
  /** The token that is looked at. */
  at: number
  /** Why it can write no more. */
  ended: 'end' | 'full' | 'overflow' | null
  /** For each token and norm the deviation before the norm; NaN where the run has not been. */
  trail: Float32Array
  moment: Moment
}

export interface Report {
  seed: number
  /** How many tokens were given: the start token and the prompt. */
  given: number
  /** How many words after the prompt both texts share. */
  from: number
  playing: boolean
  with: Lane
  without: Lane | null
}

export function snapshot(engine: Engine, playing: boolean): Report {
  const { settings, given, model } = engine
  const laneOf = (run: Engine['with']): Lane => {
    const trail = new Float32Array(run.ids.length * model.norms).fill(NaN)
    run.trail.forEach((variances, t) => variances && trail.set(variances.map(Math.sqrt), t * model.norms))
    if (run.moment === null) throw new Error('set comes first')
    return { texts: engine.texts(run), at: run.at, ended: run.ended, trail, moment: run.moment }
  }
  return {
    seed: settings.seed,
    given,
    from: settings.from,
    playing,
    with: laneOf(engine.with),
    without: engine.without && laneOf(engine.without),
  }
}

/** A report as JSON: the texts joined by |, numbers in lists, and null for what is not finite. */
export type Recording = Omit<Report, 'with' | 'without'> & {
  with: RecordedLane
  without: RecordedLane | null
}

type Numbers = (number | null)[]

type RecordedLane = {
  texts: string
  at: number
  ended: null
  trail: Numbers
  moment: Omit<Moment, 'rows' | 'stats'> & { rows: Numbers; stats: Numbers }
}

export function recorded(recording: Recording): Report {
  const numbers = (list: Numbers) => Float32Array.from(list, (value) => value ?? NaN)
  const laneOf = ({ texts, trail, moment, ...lane }: RecordedLane): Lane => ({
    ...lane,
    texts: texts.split('|'),
    trail: numbers(trail),
    moment: { ...moment, rows: numbers(moment.rows), stats: numbers(moment.stats) },
  })
  return {
    ...recording,
    with: laneOf(recording.with),
    without: recording.without && laneOf(recording.without),
  }
}
