// From the page's settings to every number on it, by the package. Nothing here knows the page.

/** @import { Gpt, Tensor } from 'gpt-layers' */
/** @import { Settings } from './slice.js' */

export const SAMPLES = 2
export const INPUTS = 5
export const OUTPUTS = 6

/**
 * The numbers that can be edited, each table by the name its cells have in the URL: row first, counted from 1, as in x12.
 *
 * @param {'outputs' | 'batch'} target
 */
export function tableShapes(target) {
  const width = target === 'outputs' ? OUTPUTS : INPUTS
  return { x: [SAMPLES, INPUTS], w: [OUTPUTS, INPUTS], b: [OUTPUTS], gamma: [width], beta: [width] }
}

/**
 * The names of a table's cells, in its order.
 *
 * @param {string} table
 * @param {readonly number[]} shape [rows, cols], or [n]
 */
export function cellNames(table, [rows, cols]) {
  if (cols === undefined) return Array.from({ length: rows }, (_, i) => `${table}${i + 1}`)
  return Array.from({ length: rows * cols }, (_, i) => `${table}${Math.floor(i / cols) + 1}${(i % cols) + 1}`)
}

/**
 * What the tables hold before any edit: the batch and the layer as the seed draws them, scale 1 and shift 0.
 *
 * @param {Gpt} gpt
 * @param {number} seed
 * @param {'outputs' | 'batch'} target
 * @returns {Record<string, number>} by cell name
 */
export function drawn(gpt, seed, target) {
  return gpt.scope(() => {
    gpt.manualSeed(seed)
    const shapes = tableShapes(target)
    const batch = gpt.randn(shapes.x)
    const { weight, bias } = new gpt.Linear(INPUTS, OUTPUTS).stateDict()
    const tables = { x: batch, w: weight, b: bias, gamma: gpt.ones(shapes.gamma), beta: gpt.zeros(shapes.beta) }
    return Object.fromEntries(
      Object.entries(tables).flatMap(([table, { shape, data }]) =>
        cellNames(table, shape).map((name, i) => [name, data[i]]),
      ),
    )
  })
}

/**
 * @typedef {object} Step one state on the way from before to after
 * @property {string} name what was done to the step before
 * @property {string} verb what that does to the points
 * @property {number[][]} values [sample][feature]
 * @property {number[]} mean of each sample
 * @property {number[]} variance of each sample, divided as the settings say
 *
 * @typedef {object} Result
 * @property {Step} before what is normalised
 * @property {Step} after what comes out
 * @property {Step[]} steps from before to after, both included
 */

/**
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @param {Record<string, number>} cells every editable number by its name
 * @returns {Result}
 */
export function compute(gpt, { target, unbiased, eps }, cells) {
  const shapes = tableShapes(target)
  const values = (/** @type {keyof typeof shapes} */ name) => cellNames(name, shapes[name]).map((cell) => cells[cell])
  const table = (/** @type {keyof typeof shapes} */ name) => gpt.tensor(values(name), shapes[name])
  return gpt.scope(() => {
    const x = table('x')
    const input = target === 'outputs' ? layer(gpt, x, table('w'), table('b')) : x
    const mean = input.mean({ dim: -1, keepdim: true })
    const variance = input.var({ dim: -1, keepdim: true, unbiased })
    const centred = input.sub(mean)
    const normalised = centred.div(variance.add(eps).sqrt())
    const scaled = normalised.mul(table('gamma')).add(table('beta'))
    const step = (/** @type {string} */ name, /** @type {string} */ verb, /** @type {Tensor} */ tensor) => ({
      name,
      verb,
      values: /** @type {number[][]} */ (tensor.toArray()),
      mean: Array.from(tensor.mean({ dim: -1 }).data),
      variance: Array.from(tensor.var({ dim: -1, unbiased }).data),
    })
    const steps = [step('before', '', input), step('− μ', 'slide', centred), step('÷ √(σ²+ε)', 'stretch', normalised)]
    const plain = values('gamma').every((value) => value === 1) && values('beta').every((value) => value === 0)
    if (!plain) steps.push(step('· γ + β', 'scale, shift', scaled))
    return { before: steps[0], after: steps[steps.length - 1], steps }
  })
}

/**
 * @param {Gpt} gpt
 * @param {Tensor} x
 * @param {Tensor} weight
 * @param {Tensor} bias
 * @returns {Tensor} ReLU(x · weightᵀ + bias)
 */
function layer(gpt, x, weight, bias) {
  const linear = new gpt.Linear(INPUTS, OUTPUTS)
  linear.loadStateDict({ weight, bias })
  return new gpt.Sequential(linear, new gpt.ReLU()).forward(x)
}
