// What section 1 can be set to, and how the address and a file say it.

/** @import { Slice } from '../../fields.js' */

import { asObject } from '../../fields.js'
import { parseNumber, shortest } from '../../numbers.js'
import { cellNames, tableShapes } from './compute.js'
import { NOTEBOOK_SEED, NOTEBOOK_SETTINGS } from './notebook.js'

/**
 * @typedef {object} Settings
 * @property {number} seed of the batch and the layer
 * @property {'outputs' | 'batch'} target what is normalised: the layer's outputs (cells 2 to 4), or the batch (cell 7)
 * @property {boolean} unbiased whether the variance is divided by n - 1
 * @property {number} eps added to the variance
 * @property {Record<string, number>} edits what was changed, by cell name
 */

const MAX_SEED = 2 ** 32 - 1

/** @param {string} text @returns {boolean} */
export function isSeed(text) {
  return /^\d+$/.test(text) && Number(text) <= MAX_SEED
}

/** @param {number} eps @returns {boolean} */
export function isEps(eps) {
  return eps >= 0 && eps <= 1e6
}

/** @param {Settings['target']} target @returns {Settings} as the notebook normalises that tensor */
export function notebookSettings(target) {
  return { seed: NOTEBOOK_SEED, target, ...NOTEBOOK_SETTINGS[target], edits: {} }
}

const cells = (/** @type {Settings['target']} */ target) =>
  new Set(Object.entries(tableShapes(target)).flatMap(([table, shape]) => cellNames(table, shape)))

/** @type {Slice<Settings>} */
export default {
  defaults: () => notebookSettings('outputs'),
  toQuery({ seed, target, unbiased, eps, edits }) {
    const notebook = NOTEBOOK_SETTINGS[target]
    /** @type {Record<string, string>} */
    const query = {}
    if (target !== 'outputs') query.normalise = target
    if (seed !== NOTEBOOK_SEED) query.seed = String(seed)
    if (unbiased !== notebook.unbiased) query.variance = unbiased ? 'unbiased' : 'biased'
    if (eps !== notebook.eps) query.eps = String(eps)
    for (const [name, value] of Object.entries(edits)) query[name] = shortest(value)
    return query
  },
  fromQuery(query) {
    const target = query.get('normalise') ?? 'outputs'
    const known = target === 'outputs' || target === 'batch'
    const state = notebookSettings(known ? target : 'outputs')
    const names = cells(state.target)
    const refused = known ? [] : ['normalise']
    for (const [name, text] of query) {
      const value = parseNumber(text)
      if (name === 'normalise') continue
      if (name === 'seed' && isSeed(text)) state.seed = Number(text)
      else if (name === 'variance' && /^(un)?biased$/.test(text)) state.unbiased = text === 'unbiased'
      else if (name === 'eps' && isEps(Number(text)) && text.trim()) state.eps = Number(text)
      else if (names.has(name) && value !== null) state.edits[name] = value
      else refused.push(name)
    }
    return { state, refused }
  },
  validate(value) {
    const given = asObject(value)
    const target = given.target ?? 'outputs'
    if (target !== 'outputs' && target !== 'batch') throw new Error(`“target” cannot be ${JSON.stringify(target)}`)
    const state = notebookSettings(target)
    const { seed = state.seed, unbiased = state.unbiased, eps = state.eps } = given
    if (!isSeed(String(seed))) throw new Error(`“seed” cannot be ${JSON.stringify(seed)}`)
    if (typeof unbiased !== 'boolean') throw new Error(`“unbiased” cannot be ${JSON.stringify(unbiased)}`)
    if (typeof eps !== 'number' || !isEps(eps)) throw new Error(`“eps” cannot be ${JSON.stringify(eps)}`)
    const edits = asObject(given.edits ?? {})
    const names = cells(target)
    for (const [name, number] of Object.entries(edits)) {
      if (!names.has(name)) throw new Error(`there is no cell “${name}”`)
      const known = typeof number === 'number' && Number.isFinite(Math.fround(number))
      if (!known) throw new Error(`“${name}” cannot be ${JSON.stringify(number)}`)
      state.edits[name] = Math.fround(/** @type {number} */ (number))
    }
    return { ...state, seed: Number(seed), unbiased, eps }
  },
}
