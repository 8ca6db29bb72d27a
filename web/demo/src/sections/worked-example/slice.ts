// The worked example's settings, and how they are written in the address and in a file.

import { CELLS, SEED } from '../../example.ts'
import { asObject, choice, flag, integer, number, seed, slice } from '../../fields.ts'
import type { Slice, StateOf } from '../../fields.ts'
import { parseNumber, shortest } from '../../numbers.ts'

export const MAX_EPS = 1e6
export const EPS = 1e-5

const VIEWS = {
  /** The step that is shown. */
  step: choice('mean', ['mean', 'subtract', 'variance', 'divide', 'scale']),
  /** Whether the layer that the rows come from is open. */
  layer: flag(false),
  /** What of PyTorch is open: its code, or what it prints. */
  panel: choice('figure', ['figure', 'code', 'print']),
  /** Scientific notation in what it prints. */
  sci: choice('auto', ['auto', 'on', 'off']),
  /** `dim` of the mean that it prints. */
  dim: integer(-1, { min: -2, max: 1 }),
  /** `keepdim` of that mean. */
  keepdim: flag(true),
}
const fields = slice(
  {
    /** The seed of the batch and the layer. */
    seed: seed(SEED),
    /** Divided by n, or by n - 1. */
    variance: choice('biased', ['biased', 'unbiased']),
    /** Added to the variance. */
    eps: number(EPS, { min: 0, max: MAX_EPS }),
    ...VIEWS,
  },
  { views: Object.keys(VIEWS) },
)

export type Settings = StateOf<typeof fields> & {
  /** The changed numbers, by cell name. */
  edits: Record<string, number>
}

const settings: Slice<Settings> = {
  views: fields.views,
  defaults: () => ({ ...fields.defaults(), edits: {} }),
  toQuery({ edits, ...others }) {
    const cells = Object.entries(edits).map(([name, value]) => [name, shortest(value)])
    return { ...fields.toQuery(others), ...Object.fromEntries(cells) }
  },
  fromQuery(query) {
    const edits: Settings['edits'] = {}
    const others = new Map<string, string>()
    for (const [name, text] of query) {
      const value = CELLS.has(name) ? parseNumber(text) : null
      if (value === null) others.set(name, text)
      else edits[name] = value
    }
    const { state, refused } = fields.fromQuery(others)
    return { state: { ...state, edits }, refused }
  },
  validate(value) {
    const { edits: given = {}, ...others } = asObject(value)
    const state = fields.validate(others)
    const edits: Settings['edits'] = {}
    for (const [name, number] of Object.entries(asObject(given))) {
      if (!CELLS.has(name)) throw new Error(`there is no cell “${name}”`)
      if (typeof number !== 'number' || !Number.isFinite(Math.fround(number)))
        throw new Error(`“${name}” cannot be ${JSON.stringify(number)}`)
      edits[name] = Math.fround(number)
    }
    return { ...state, edits }
  },
}

export default settings
