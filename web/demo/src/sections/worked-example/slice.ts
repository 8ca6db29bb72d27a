// The worked example's settings, and how they are written in the address and in a file.

import { asObject, choice, flag, integer, number, slice, type Slice } from '../../fields.ts'
import { parseNumber, shortest } from '../../numbers.ts'
import { CELLS } from './compute.ts'
import { LAYER_NORM, SEED } from './pytorch.ts'
import type { StepName } from './steps.ts'

export interface Settings {
  /** The seed of the batch and the layer. */
  seed: number
  /** Whether the variance is divided by n - 1. */
  unbiased: boolean
  /** Added to the variance. */
  eps: number
  /** The changed numbers, by cell name. */
  edits: Record<string, number>
  /** The step that is shown. */
  step: StepName
  /** What of PyTorch is open: its code, or what it prints. */
  panel: 'figure' | 'code' | 'print'
  /** Scientific notation in what it prints. */
  sci: 'auto' | 'on' | 'off'
  /** `dim` of the mean that it prints. */
  dim: number
  /** `keepdim` of that mean. */
  keepdim: boolean
}

const MAX_SEED = 2 ** 32 - 1
export const MAX_EPS = 1e6

const STEPS: readonly StepName[] = [
  'input',
  'linear',
  'relu',
  'mean',
  'variance',
  'subtract',
  'divide',
  'compare',
  'scale',
]

const seed = integer(SEED, { min: 0, max: MAX_SEED })
const variance = choice('biased', ['biased', 'unbiased'])
const eps = number(LAYER_NORM.eps, { min: 0, max: MAX_EPS })

/** The settings that only select what is shown. */
const VIEWS = {
  step: choice('input', STEPS),
  panel: choice('figure', ['figure', 'code', 'print']),
  sci: choice('auto', ['auto', 'on', 'off']),
  dim: integer(-1, { min: -2, max: 1 }),
  keepdim: flag(true),
}
const views = slice(VIEWS)

const defaults = (): Settings => ({ seed: SEED, ...LAYER_NORM, edits: {}, ...views.defaults() })

const settings: Slice<Settings> = {
  views: Object.keys(VIEWS),
  defaults,
  toQuery(settings) {
    const query: Record<string, string> = {}
    if (settings.seed !== SEED) query.seed = String(settings.seed)
    if (settings.unbiased !== LAYER_NORM.unbiased) query.variance = settings.unbiased ? 'unbiased' : 'biased'
    if (settings.eps !== LAYER_NORM.eps) query.eps = String(settings.eps)
    for (const [name, value] of Object.entries(settings.edits)) query[name] = shortest(value)
    return { ...query, ...views.toQuery(settings) }
  },
  fromQuery(query) {
    const state = defaults()
    const others = new Map<string, string>()
    for (const [name, text] of query) {
      const value = CELLS.has(name) ? parseNumber(text) : null
      if (value !== null) state.edits[name] = value
      else if (name === 'seed' && seed.read(text) !== undefined) state.seed = Number(text)
      else if (name === 'eps' && eps.read(text) !== undefined) state.eps = Number(text)
      else if (name === 'variance' && variance.read(text)) state.unbiased = text === 'unbiased'
      else others.set(name, text)
    }
    const read = views.fromQuery(others)
    return { state: { ...state, ...read.state }, refused: read.refused }
  },
  validate(value) {
    const { seed: given, unbiased, eps: added, edits = {}, ...others } = asObject(value)
    const state = { ...defaults(), ...views.validate(others) }
    const check = (name: string, one: unknown, valid: boolean) => {
      if (!valid) throw new Error(`“${name}” cannot be ${JSON.stringify(one)}`)
    }
    if (given !== undefined) {
      check('seed', given, typeof given === 'number' && seed.read(String(given)) !== undefined)
      state.seed = Number(given)
    }
    if (unbiased !== undefined) {
      check('unbiased', unbiased, typeof unbiased === 'boolean')
      state.unbiased = Boolean(unbiased)
    }
    if (added !== undefined) {
      check('eps', added, typeof added === 'number' && eps.read(String(added)) !== undefined)
      state.eps = Number(added)
    }
    for (const [name, number] of Object.entries(asObject(edits))) {
      if (!CELLS.has(name)) throw new Error(`there is no cell “${name}”`)
      check(name, number, typeof number === 'number' && Number.isFinite(Math.fround(number)))
      state.edits[name] = Math.fround(Number(number))
    }
    return state
  },
}

export default settings
