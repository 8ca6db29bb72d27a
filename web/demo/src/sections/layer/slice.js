// What section 1 can be set to, and how the address and a file say it.

/** @import { Slice, Field } from '../../fields.js' */

import { asObject, choice, flag, integer } from '../../fields.js'
import { parseNumber, shortest } from '../../numbers.js'
import { BATCHES, cellNames, tableShapes } from './compute.js'
import { NOTEBOOK_SEED, notebookSettings } from './notebook.js'

/**
 * @typedef {object} Settings
 * @property {'notebook' | 'whiteboard' | 'rand'} data what the batch is before any edit
 * @property {'outputs' | 'batch'} target what is normalised: the layer's outputs (cells 2 to 4), or the batch (cell 7)
 * @property {number} seed of the batch and the layer
 * @property {boolean} unbiased whether the variance is divided by n - 1
 * @property {number} eps added to the variance
 * @property {Record<string, number>} edits what was changed, by cell name
 * @property {string} step how far the figure has come: a name of steps.js, or 'all'
 * @property {'lines' | 'print' | 'code'} panel what stands below the figure
 * @property {'auto' | 'on' | 'off'} sci scientific notation, in print
 * @property {number} dim of the mean that is tried out there
 * @property {boolean} keepdim of it
 * @property {number} block which of the batch's tables is shown, where it has several
 */

const MAX_SEED = 2 ** 32 - 1
const MAX_EPS = 1e6

/** What one looks at, and no edit. @type {Record<string, Field<any>>} */
const VIEWS = {
  step: choice('all', ['all', 'input', 'linear', 'relu', 'mean', 'variance', 'subtract', 'divide', 'scale']),
  panel: choice('lines', ['lines', 'print', 'code']),
  sci: choice('auto', ['auto', 'on', 'off']),
  dim: integer(-1, { min: -3, max: 2 }),
  keepdim: flag(true),
  block: integer(1, { min: 1, max: 5 }),
}
const views = Object.fromEntries(Object.entries(VIEWS).map(([name, { initial }]) => [name, initial]))

/** @param {string} text @returns {boolean} */
export function isSeed(text) {
  return /^\d+$/.test(text) && Number(text) <= MAX_SEED
}

/** @param {number} eps @returns {boolean} */
export function isEps(eps) {
  return eps >= 0 && eps <= MAX_EPS
}

/**
 * The settings with which the notebooks and the lecture normalise a tensor, as first seen.
 *
 * @param {Settings['data']} data
 * @param {Settings['target']} target
 * @returns {Settings}
 */
const original = (data, target) => ({
  data,
  target,
  seed: NOTEBOOK_SEED,
  ...notebookSettings(data, target),
  edits: {},
  ...views,
})

const cells = (/** @type {Settings} */ settings) =>
  new Set(Object.entries(tableShapes(settings)).flatMap(([table, shape]) => cellNames(table, shape)))

/**
 * @param {unknown} data
 * @param {unknown} target
 * @returns {boolean} whether there is such a tensor: only the notebook's batch goes through a layer
 */
const isTensor = (data, target) =>
  typeof data === 'string' &&
  Object.hasOwn(BATCHES, data) &&
  (target === 'batch' || (target === 'outputs' && data === 'notebook'))

/** @type {Slice<Settings>} */
export default {
  views: Object.keys(VIEWS),
  defaults: () => original('notebook', 'outputs'),
  toQuery(settings) {
    const { data, target, seed, unbiased, eps, edits } = settings
    const first = original(data, target)
    /** @type {Record<string, string>} */
    const query = {}
    if (data !== 'notebook') query.data = data
    else if (target !== 'outputs') query.normalise = target
    if (seed !== first.seed) query.seed = String(seed)
    if (unbiased !== first.unbiased) query.variance = unbiased ? 'unbiased' : 'biased'
    if (eps !== first.eps) query.eps = String(eps)
    for (const [name, value] of Object.entries(edits)) query[name] = shortest(value)
    for (const [name, { initial, write }] of Object.entries(VIEWS)) {
      if (settings[name] !== initial) query[name] = write(settings[name])
    }
    return query
  },
  fromQuery(query) {
    const { data = 'notebook', normalise: target = data === 'notebook' ? 'outputs' : 'batch' } =
      Object.fromEntries(query)
    const known = isTensor(data, target)
    const state = known
      ? original(/** @type {any} */ (data), /** @type {any} */ (target))
      : original('notebook', 'outputs')
    const names = cells(state)
    const refused = []
    for (const [name, text] of query) {
      const value = parseNumber(text)
      const view = Object.hasOwn(VIEWS, name) ? VIEWS[name].read(text) : undefined
      if (known && (name === 'data' || name === 'normalise')) continue
      if (name === 'seed' && isSeed(text)) state.seed = Number(text)
      else if (name === 'variance' && /^(un)?biased$/.test(text)) state.unbiased = text === 'unbiased'
      else if (name === 'eps' && isEps(Number(text)) && text.trim()) state.eps = Number(text)
      else if (names.has(name) && value !== null) state.edits[name] = value
      else if (view !== undefined) Object.assign(state, { [name]: view })
      else refused.push(name)
    }
    return { state, refused }
  },
  validate(value) {
    const given = asObject(value)
    const { data = 'notebook', target = 'outputs' } = given
    const refuse = (/** @type {string} */ name) => {
      throw new Error(`“${name}” cannot be ${JSON.stringify(given[name])}`)
    }
    if (!isTensor(data, target)) refuse(Object.hasOwn(BATCHES, String(data)) ? 'target' : 'data')
    const state = original(/** @type {any} */ (data), /** @type {any} */ (target))
    for (const [name, one] of Object.entries(given)) {
      if (name === 'data' || name === 'target') continue
      if (name === 'seed') isSeed(String(one)) || refuse(name)
      else if (name === 'unbiased') typeof one === 'boolean' || refuse(name)
      else if (name === 'eps') (typeof one === 'number' && isEps(one)) || refuse(name)
      else if (name === 'edits') asObject(one)
      else if (!Object.hasOwn(VIEWS, name)) throw new Error(`there is no “${name}”`)
      else if (
        typeof one !== typeof VIEWS[name].initial ||
        VIEWS[name].read(VIEWS[name].write(one)) === undefined
      )
        refuse(name)
    }
    const edits = asObject(given.edits ?? {})
    const names = cells(state)
    for (const [name, number] of Object.entries(edits)) {
      if (!names.has(name)) throw new Error(`there is no cell “${name}”`)
      if (typeof number !== 'number' || !Number.isFinite(Math.fround(number))) {
        throw new Error(`“${name}” cannot be ${JSON.stringify(number)}`)
      }
      edits[name] = Math.fround(number)
    }
    return { ...state, ...given, seed: Number(given.seed ?? state.seed), edits: /** @type {any} */ (edits) }
  },
}
