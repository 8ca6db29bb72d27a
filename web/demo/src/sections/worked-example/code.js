// The code panel: programs in PyTorch and JavaScript that print what the "print" panel shows, in its order.

/** @import { Settings } from './slice.js' */

import { shortest } from '../../numbers.js'
import { BATCHES, INPUTS, OUTPUTS, cellNames, tableShapes } from './compute.js'

/**
 * The edits of each table: single numbers with their indices from 0, or whole rows if all of a row was
 * edited.
 *
 * @param {Settings} settings
 * @returns {Record<string, { at: number[], offset: number, values: number[] }[]>}
 */
function edits({ edits, ...settings }) {
  return Object.fromEntries(
    Object.entries(tableShapes(/** @type {Settings} */ (settings))).map(([table, shape]) => {
      const width = shape[shape.length - 1]
      const names = cellNames(table, shape)
      const found = []
      for (let offset = 0; offset < names.length; offset += width) {
        const at = indices(offset, shape)
        const row = names.slice(offset, offset + width).map((name) => edits[name])
        if (row.every((value) => value !== undefined) && shape.length > 1)
          found.push({ at: at.slice(0, -1), offset, values: row })
        else
          row.forEach(
            (value, c) =>
              value !== undefined &&
              found.push({ at: [...at.slice(0, -1), c], offset: offset + c, values: [value] }),
          )
      }
      return [table, found]
    }),
  )
}

/** @param {number} offset @param {readonly number[]} shape @returns {number[]} row-major */
function indices(offset, shape) {
  return shape.reduceRight((/** @type {number[]} */ found, n) => {
    found.unshift(offset % n)
    offset = Math.floor(offset / n)
    return found
  }, [])
}

const plain = (/** @type {Settings} */ { edits }) =>
  !Object.keys(edits).some((name) => /^(gamma|beta)/.test(name))
const list = (/** @type {number[]} */ values) => `[${values.map(shortest).join(', ')}]`

/** @param {Settings} settings @returns {string} */
export function pytorch(settings) {
  const { data, target, seed, unbiased, eps, sci } = settings
  const { shape, drawn, values } = BATCHES[data]
  const changed = edits(settings)
  const set = (/** @type {string} */ table, /** @type {string} */ name) =>
    (changed[table] ?? []).map(({ at, values }) => {
      return `${name}[${at.join(', ')}] = ${values.length > 1 ? `torch.tensor(${list(values)})` : shortest(values[0])}`
    })
  const width = tableShapes(settings).gamma[0]
  const name = target === 'outputs' ? 'out' : 'batch'
  const variance = (/** @type {string} */ of) =>
    `${of}.var(dim=-1, keepdim=True${unbiased ? '' : ', unbiased=False'})`
  return [
    'import torch',
    ...(target === 'outputs' ? ['import torch.nn as nn'] : []),
    '',
    ...(sci === 'auto' ? [] : [`torch.set_printoptions(sci_mode=${sci === 'on' ? 'True' : 'False'})`]),
    ...(values
      ? [`batch = torch.tensor([${list(values)}])`]
      : [`torch.manual_seed(${seed})`, `batch = torch.${drawn}(${shape.join(', ')})`]),
    ...set('x', 'batch'),
    ...(target === 'outputs'
      ? [
          `layer = nn.Sequential(nn.Linear(${INPUTS}, ${OUTPUTS}), nn.ReLU())`,
          ...set('w', 'layer[0].weight.data'),
          ...set('b', 'layer[0].bias.data'),
          'out = layer(batch).detach()',
        ]
      : []),
    `mean = ${name}.mean(dim=-1, keepdim=True)`,
    `var = ${variance(name)}`,
    `norm = (${name} - mean) / torch.sqrt(${eps ? `var + ${eps}` : 'var'})`,
    ...(plain(settings)
      ? []
      : [
          `scale, shift = torch.ones(${width}), torch.zeros(${width})`,
          ...set('gamma', 'scale'),
          ...set('beta', 'shift'),
          'norm = norm * scale + shift',
        ]),
    '',
    `print(${name})`,
    'print(mean)',
    'print(var)',
    'print(norm)',
    'print(norm.mean(dim=-1, keepdim=True))',
    `print(${variance('norm')})`,
    '',
  ].join('\n')
}

/** @param {Settings} settings @returns {string} */
export function javascript(settings) {
  const { data, target, seed, unbiased, eps, sci } = settings
  const { shape, drawn, values } = BATCHES[data]
  const changed = edits(settings)
  const set = (/** @type {string} */ table, /** @type {string} */ name) =>
    (changed[table] ?? []).map(({ offset, values }) =>
      values.length > 1
        ? `${name}.data.set(${list(values)}, ${offset})`
        : `${name}.data[${offset}] = ${shortest(values[0])}`,
    )
  const width = tableShapes(settings).gamma[0]
  const name = target === 'outputs' ? 'out' : 'batch'
  const variance = (/** @type {string} */ of) =>
    `${of}.var({ dim: -1, keepdim: true${unbiased ? '' : ', unbiased: false'} })`
  const text = (/** @type {string} */ of) =>
    sci === 'auto' ? `String(${of})` : `${of}.toString({ sciMode: ${sci === 'on'} })`
  const after = plain(settings) ? '' : '.mul(scale).add(shift)'
  return [
    "import { load } from 'gpt-layers'",
    '',
    'const gpt = await load()',
    ...(values
      ? [`const batch = gpt.tensor([${list(values)}])`]
      : [`gpt.manualSeed(${seed})`, `const batch = gpt.${drawn}([${shape.join(', ')}])`]),
    ...set('x', 'batch'),
    ...(target === 'outputs'
      ? [
          `const linear = new gpt.Linear(${INPUTS}, ${OUTPUTS})`,
          ...set('w', 'linear.weight'),
          ...set('b', 'linear.bias'),
          'const layer = new gpt.Sequential(linear, new gpt.ReLU())',
          'const out = layer.forward(batch)',
        ]
      : []),
    `const mean = ${name}.mean({ dim: -1, keepdim: true })`,
    `const variance = ${variance(name)}`,
    ...(plain(settings)
      ? []
      : [
          `const scale = gpt.ones([${width}])`,
          `const shift = gpt.zeros([${width}])`,
          ...set('gamma', 'scale'),
          ...set('beta', 'shift'),
        ]),
    `const norm = ${name}.sub(mean).div(variance${eps ? `.add(${eps})` : ''}.sqrt())${after}`,
    '',
    `console.log(${text(name)})`,
    `console.log(${text('mean')})`,
    `console.log(${text('variance')})`,
    `console.log(${text('norm')})`,
    `console.log(${text('norm.mean({ dim: -1, keepdim: true })')})`,
    `console.log(${text(variance('norm'))})`,
    '',
  ].join('\n')
}
