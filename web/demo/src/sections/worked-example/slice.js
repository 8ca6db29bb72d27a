// Section 1's settings, and how they are written in the address and in a file.

/** @import { Slice } from '../../fields.js' */

import { asObject, choice, flag, integer, slice } from '../../fields.js'
import { parseNumber, shortest } from '../../numbers.js'
import { BATCHES, cellNames, tableShapes } from './compute.js'
import { NOTEBOOK_SEED, notebookSettings } from './notebook.js'

/** @import { StepName } from './steps.js' */

/**
 * @typedef {object} Settings
 * @property {'notebook' | 'whiteboard' | 'rand'} data the batch before any edit
 * @property {'outputs' | 'batch'} target the tensor to normalize: the layer's outputs (cells 2 to 4) or the
 *   batch (cell 7)
 * @property {number} seed of the batch and the layer
 * @property {boolean} unbiased whether the variance is divided by n - 1
 * @property {number} eps added to the variance
 * @property {Record<string, number>} edits the changed numbers, by cell name
 * @property {StepName} step the step that the figure shows: 'all' shows all of them
 * @property {'lines' | 'print' | 'code'} panel the panel below the figure
 * @property {'auto' | 'on' | 'off'} sci scientific notation in the "print" panel
 * @property {number} dim of the mean in the "print" panel
 * @property {boolean} keepdim of that mean
 * @property {number} block which table of the batch is shown, if it has several
 */

const MAX_SEED = 2 ** 32 - 1
const MAX_EPS = 1e6

/** The settings that only select what is shown: fields of every state, whatever the batch is. */
const VIEWS = {
  step: choice('all', ['all', 'input', 'linear', 'relu', 'mean', 'variance', 'subtract', 'divide', 'scale']),
  panel: choice('lines', ['lines', 'print', 'code']),
  sci: choice('auto', ['auto', 'on', 'off']),
  dim: integer(-1, { min: -3, max: 2 }),
  keepdim: flag(true),
  block: integer(1, { min: 1, max: 5 }),
}
const views = slice(VIEWS)

/** @param {string} text @returns {boolean} */
export function isSeed(text) {
  return /^\d+$/.test(text) && Number(text) <= MAX_SEED
}

/** @param {number} eps @returns {boolean} */
export function isEps(eps) {
  return eps >= 0 && eps <= MAX_EPS
}

/**
 * The initial settings for a tensor: those with which the notebooks and the lecture normalize it.
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
  ...views.defaults(),
})

const cells = (/** @type {Settings} */ settings) =>
  new Set(Object.entries(tableShapes(settings)).flatMap(([table, shape]) => cellNames(table, shape)))

/**
 * The initial settings for a tensor. Only the notebook's batch goes through a layer and so has outputs.
 *
 * @param {unknown} data
 * @param {unknown} target
 * @returns {Settings | null} null if there is no such tensor
 */
function known(data, target) {
  if (data === 'notebook' && target === 'outputs') return original(data, target)
  const batch = /** @type {const} */ (['notebook', 'whiteboard', 'rand']).find((name) => name === data)
  return batch && target === 'batch' ? original(batch, target) : null
}

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
    return { ...query, ...views.toQuery(settings) }
  },
  fromQuery(query) {
    const { data = 'notebook', normalise: target = data === 'notebook' ? 'outputs' : 'batch' } =
      Object.fromEntries(query)
    const found = known(data, target)
    const state = found ?? original('notebook', 'outputs')
    const names = cells(state)
    const others = new Map()
    for (const [name, text] of query) {
      const value = parseNumber(text)
      if (found && (name === 'data' || name === 'normalise')) continue
      if (name === 'seed' && isSeed(text)) state.seed = Number(text)
      else if (name === 'variance' && /^(un)?biased$/.test(text)) state.unbiased = text === 'unbiased'
      else if (name === 'eps' && isEps(Number(text)) && text.trim()) state.eps = Number(text)
      else if (names.has(name) && value !== null) state.edits[name] = value
      else others.set(name, text)
    }
    const read = views.fromQuery(others)
    return { state: { ...state, ...read.state }, refused: read.refused }
  },
  validate(value) {
    const {
      data = 'notebook',
      target = 'outputs',
      seed,
      unbiased,
      eps,
      edits = {},
      ...others
    } = asObject(value)
    const refuse = (/** @type {string} */ name, /** @type {unknown} */ one) => {
      throw new Error(`“${name}” cannot be ${JSON.stringify(one)}`)
    }
    const state = known(data, target)
    if (!state) {
      return Object.hasOwn(BATCHES, String(data)) ? refuse('target', target) : refuse('data', data)
    }
    if (seed !== undefined) state.seed = isSeed(String(seed)) ? Number(seed) : refuse('seed', seed)
    if (unbiased !== undefined) {
      state.unbiased = typeof unbiased === 'boolean' ? unbiased : refuse('unbiased', unbiased)
    }
    if (eps !== undefined) state.eps = typeof eps === 'number' && isEps(eps) ? eps : refuse('eps', eps)
    const names = cells(state)
    for (const [name, number] of Object.entries(asObject(edits))) {
      if (!names.has(name)) throw new Error(`there is no cell “${name}”`)
      if (typeof number !== 'number' || !Number.isFinite(Math.fround(number))) return refuse(name, number)
      state.edits[name] = Math.fround(number)
    }
    return { ...state, ...views.validate(others) }
  },
}
