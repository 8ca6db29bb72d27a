// Computes every number of section 1 from its settings. Uses only the package.

/** @import { Gpt, Tensor } from 'gpt-layers' */
/** @import { Settings } from './slice.js' */

export const INPUTS = 5
export const OUTPUTS = 6

/**
 * @typedef {object} Batch
 * @property {number[]} shape
 * @property {'randn' | 'rand'} [drawn] how the seed draws it
 * @property {number[]} [values] its numbers, if it is not drawn
 */

/** The batches before any edit. @type {Record<Settings['data'], Batch>} */
export const BATCHES = {
  notebook: { shape: [2, INPUTS], drawn: 'randn' }, // cell 2
  whiteboard: { shape: [1, 4], values: [1.1, 0.8, 2.3, 4.4] }, // the lecture's row
  rand: { shape: [5, 10, 3], drawn: 'rand' }, // the second notebook's tensor
}

/**
 * The shapes of the tables of editable numbers, by the names that their cells have in the address.
 *
 * @param {Pick<Settings, 'data' | 'target'>} settings
 * @returns {Record<string, number[]>}
 */
export function tableShapes({ data, target }) {
  const x = BATCHES[data].shape
  const width = target === 'outputs' ? OUTPUTS : x[x.length - 1]
  /** @type {Record<string, number[]>} */
  const layer = data === 'notebook' ? { w: [OUTPUTS, INPUTS], b: [OUTPUTS] } : {}
  return { x, ...layer, gamma: [width], beta: [width] }
}

/**
 * The names of a table's cells, row-major: indices counted from 1, such as x12, or x1.10.3 for three axes.
 *
 * @param {string} table
 * @param {readonly number[]} shape
 * @returns {string[]}
 */
export function cellNames(table, shape) {
  /** @type {number[][]} */
  let indices = [[]]
  for (const n of shape)
    indices = indices.flatMap((index) => Array.from({ length: n }, (_, i) => [...index, i + 1]))
  return indices.map((index) => table + index.join(shape.length > 2 ? '.' : ''))
}

/**
 * The tables before any edit: batch and layer as the seed draws them, scale 1, shift 0.
 *
 * @param {Gpt} gpt
 * @param {Pick<Settings, 'seed' | 'data' | 'target'>} settings
 * @returns {Record<string, number>} by cell name
 */
export function drawn(gpt, { seed, data, target }) {
  return gpt.scope(() => {
    gpt.manualSeed(seed)
    const { shape, drawn, values } = BATCHES[data]
    const x = values ? gpt.tensor(values, shape) : gpt[drawn ?? 'randn'](shape)
    const layer = () => {
      const { weight, bias } = new gpt.Linear(INPUTS, OUTPUTS).stateDict()
      return { w: weight, b: bias }
    }
    const shapes = tableShapes({ data, target })
    const tables = {
      x,
      ...(shapes.w && layer()),
      gamma: gpt.ones(shapes.gamma),
      beta: gpt.zeros(shapes.beta),
    }
    return Object.fromEntries(
      Object.entries(tables).flatMap(([table, { shape, data }]) =>
        cellNames(table, shape).map((name, i) => [name, data[i]]),
      ),
    )
  })
}

/**
 * Every intermediate tensor, allocated in the caller's scope.
 *
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @param {Record<string, number>} cells every editable number by its name
 */
function forward(gpt, settings, cells) {
  const shapes = tableShapes(settings)
  const table = (/** @type {string} */ name) =>
    gpt.tensor(
      cellNames(name, shapes[name]).map((cell) => cells[cell]),
      shapes[name],
    )
  const x = table('x')
  const linear = () => {
    const linear = new gpt.Linear(INPUTS, OUTPUTS)
    linear.loadStateDict({ weight: table('w'), bias: table('b') })
    return linear.forward(x)
  }
  const z = settings.target === 'outputs' ? linear() : x
  const out = settings.target === 'outputs' ? new gpt.ReLU().forward(z) : x
  const mean = out.mean({ dim: -1, keepdim: true })
  const variance = out.var({ dim: -1, keepdim: true, unbiased: settings.unbiased })
  const centred = out.sub(mean)
  const divided = centred.div(variance.add(settings.eps).sqrt())
  const scaled = divided.mul(table('gamma')).add(table('beta'))
  return { z, out, mean, variance, centred, divided, scaled }
}

/**
 * @typedef {object} Step one state on the way from before to after
 * @property {string} name what was done to the step before
 * @property {string} verb what that does to the points
 * @property {number[][]} values [row][feature]
 * @property {number[]} mean of each row
 * @property {number[]} variance of each row, divided as the settings say
 *
 * @typedef {object} Result
 * @property {number[][]} linear what Linear gives, before ReLU; the batch where there is no layer
 * @property {Step} before what is normalised
 * @property {Step} centred before, its mean subtracted
 * @property {Step} divided centred, divided by its deviation
 * @property {Step} after what comes out
 * @property {Step[]} steps from before to after, both included; without the last where scale and shift change
 *   nothing
 */

/**
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @param {Record<string, number>} cells every editable number by its name
 * @returns {Result}
 */
export function compute(gpt, settings, cells) {
  return gpt.scope(() => {
    const { z, out, centred, divided, scaled } = forward(gpt, settings, cells)
    const width = out.shape[out.shape.length - 1]
    const rows = (/** @type {Tensor} */ { data }) =>
      Array.from({ length: data.length / width }, (_, r) => [...data.slice(r * width, (r + 1) * width)])
    const step = (/** @type {string} */ name, /** @type {string} */ verb, /** @type {Tensor} */ tensor) => ({
      name,
      verb,
      values: rows(tensor),
      mean: Array.from(tensor.mean({ dim: -1 }).data),
      variance: Array.from(tensor.var({ dim: -1, unbiased: settings.unbiased }).data),
    })
    const steps = {
      before: step('before', '', out),
      centred: step('− μ', 'slide', centred),
      divided: step('÷ √(σ²+ε)', 'stretch', divided),
      after: step('· γ + β', 'scale, shift', scaled),
    }
    const all = Object.values(steps)
    const plain = /^(gamma.*=1|beta.*=0)$/
    const scales = Object.entries(cells).filter(([name]) => /^(gamma|beta)/.test(name))
    const idle = scales.every(([name, value]) => plain.test(`${name}=${value}`))
    return { linear: rows(z), ...steps, steps: idle ? all.slice(0, -1) : all }
  })
}

/**
 * @typedef {object} Printed a tensor as PyTorch prints it
 * @property {string} name as the notebook has it
 * @property {number[]} shape
 * @property {string} text
 */

/**
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @param {Record<string, number>} cells every editable number by its name
 * @returns {Printed[]} in the order in which the code of code.js prints them
 */
export function print(gpt, settings, cells) {
  const options = settings.sci === 'auto' ? {} : { sciMode: settings.sci === 'on' }
  return gpt.scope(() => {
    const { out, mean, variance, scaled } = forward(gpt, settings, cells)
    const name = settings.target === 'outputs' ? 'out' : 'batch'
    const after = {
      mean: scaled.mean({ dim: -1, keepdim: true }),
      var: scaled.var({ dim: -1, keepdim: true, unbiased: settings.unbiased }),
    }
    const tensors = {
      [name]: out,
      mean,
      var: variance,
      norm: scaled,
      'norm’s mean': after.mean,
      'norm’s var': after.var,
    }
    return Object.entries(tensors).map(([name, tensor]) => ({
      name,
      shape: [...tensor.shape],
      text: tensor.toString(options),
    }))
  })
}

/**
 * The mean with `dim` and `keepdim`, and whether it can be subtracted from its tensor.
 *
 * @param {Gpt} gpt
 * @param {Settings} settings
 * @param {Record<string, number>} cells every editable number by its name
 * @returns {{ from: number[], shape: number[], text: string, difference: number[] | string }} the
 *   difference's shape, or the sentence that refuses it
 */
export function meanAlong(gpt, settings, cells) {
  return gpt.scope(() => {
    const { out } = forward(gpt, settings, cells)
    const mean = out.mean({ dim: settings.dim, keepdim: settings.keepdim })
    let difference
    try {
      difference = [...out.sub(mean).shape]
    } catch (error) {
      difference = /** @type {Error} */ (error).message
    }
    return { from: [...out.shape], shape: [...mean.shape], text: String(mean), difference }
  })
}
