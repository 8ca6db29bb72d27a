// Programs in PyTorch and JavaScript that print what PyTorch.svelte shows, in its order.

import { shortest } from '../../numbers.ts'
import { cellNames, INPUTS, OUTPUTS, SAMPLES, TABLES, type TableName } from '../../example.ts'
import { EPS } from '../../example-slice.ts'
import type { Settings } from './steps.ts'

/** The rows that were moved, by their index. */
type Moved = (number[] | undefined)[]

/**
 * The edits of each table: single numbers with their indices from 0, or whole rows if all of a row was
 * edited.
 */
function changes({
  edits,
}: Settings): Record<TableName, { at: number[]; offset: number; values: number[] }[]> {
  const found = TABLES.map((table) => {
    const names = cellNames(table)
    const width = table === 'x' || table === 'w' ? INPUTS : names.length
    const deep = names.length > width
    const rows = Array.from({ length: names.length / width }, (_, r) => {
      const row = names.slice(r * width, (r + 1) * width).map((name) => edits[name])
      if (deep && row.every((value) => value !== undefined))
        return [{ at: [r], offset: r * width, values: row }]
      return row.flatMap((value, c) =>
        value === undefined ? [] : [{ at: deep ? [r, c] : [c], offset: r * width + c, values: [value] }],
      )
    })
    return [table, rows.flat()]
  })
  return Object.fromEntries(found)
}

const plain = ({ edits }: Settings) => !Object.keys(edits).some((name) => /^(gamma|beta)/.test(name))
const list = (values: number[]) => `[${values.map(shortest).join(', ')}]`

export function pytorch(settings: Settings, moved: Moved): string {
  const { seed, eps, sci } = settings
  const unbiased = settings.divisor === 'n-1'
  const changed = changes(settings)
  const set = (table: TableName, name: string) =>
    changed[table].map(({ at, values }) => {
      const to = values.length > 1 ? `torch.tensor(${list(values)})` : shortest(values[0])
      return `${name}[${at.join(', ')}] = ${to}`
    })
  const variance = (of: string) => `${of}.var(dim=-1, keepdim=True${unbiased ? '' : ', correction=0'})`
  const asLayerNorm = !unbiased && eps === EPS && plain(settings)
  return [
    'import torch',
    'import torch.nn as nn',
    '',
    ...(sci === 'auto' ? [] : [`torch.set_printoptions(sci_mode=${sci === 'on' ? 'True' : 'False'})`]),
    `torch.manual_seed(${seed})`,
    `batch = torch.randn(${SAMPLES}, ${INPUTS})`,
    ...set('x', 'batch'),
    `layer = nn.Sequential(nn.Linear(${INPUTS}, ${OUTPUTS}), nn.ReLU())`,
    ...set('w', 'layer[0].weight.data'),
    ...set('b', 'layer[0].bias.data'),
    'out = layer(batch).detach()',
    ...moved.flatMap((row, r) => (row ? [`out[${r}] = torch.tensor(${list(row)})`] : [])),
    'mean = out.mean(dim=-1, keepdim=True)',
    `var = ${variance('out')}`,
    `norm = (out - mean) / torch.sqrt(${eps ? `var + ${eps}` : 'var'})`,
    ...(asLayerNorm ? [`# the same: nn.LayerNorm(${OUTPUTS})(out)`] : []),
    ...(plain(settings)
      ? []
      : [
          `scale, shift = torch.ones(${OUTPUTS}), torch.zeros(${OUTPUTS})`,
          ...set('gamma', 'scale'),
          ...set('beta', 'shift'),
          'norm = norm * scale + shift',
        ]),
    '',
    'print(out)',
    'print(mean)',
    'print(var)',
    'print(norm)',
    'print(norm.mean(dim=-1, keepdim=True))',
    `print(${variance('norm')})`,
    '',
  ].join('\n')
}

export function javascript(settings: Settings, moved: Moved): string {
  const { seed, eps, sci } = settings
  const unbiased = settings.divisor === 'n-1'
  const changed = changes(settings)
  const set = (table: TableName, name: string) =>
    changed[table].map(({ offset, values }) =>
      values.length > 1
        ? `${name}.data.set(${list(values)}, ${offset})`
        : `${name}.data[${offset}] = ${shortest(values[0])}`,
    )
  const variance = (of: string) =>
    `${of}.var({ dim: -1, keepdim: true${unbiased ? '' : ', unbiased: false'} })`
  const text = (of: string) =>
    sci === 'auto' ? `String(${of})` : `${of}.toString({ sciMode: ${sci === 'on'} })`
  const after = plain(settings) ? '' : '.mul(scale).add(shift)'
  const asLayerNorm = !unbiased && eps === EPS && plain(settings)
  return [
    "import { load } from 'gpt-layers'",
    '',
    'const gpt = await load()',
    `gpt.manualSeed(${seed})`,
    `const batch = gpt.randn([${SAMPLES}, ${INPUTS}])`,
    ...set('x', 'batch'),
    `const linear = new gpt.Linear(${INPUTS}, ${OUTPUTS})`,
    ...set('w', 'linear.weight'),
    ...set('b', 'linear.bias'),
    'const layer = new gpt.Sequential(linear, new gpt.ReLU())',
    'const out = layer.forward(batch)',
    ...moved.flatMap((row, r) => (row ? [`out.data.set(${list(row)}, ${r * OUTPUTS})`] : [])),
    'const mean = out.mean({ dim: -1, keepdim: true })',
    `const variance = ${variance('out')}`,
    ...(plain(settings)
      ? []
      : [
          `const scale = gpt.ones([${OUTPUTS}])`,
          `const shift = gpt.zeros([${OUTPUTS}])`,
          ...set('gamma', 'scale'),
          ...set('beta', 'shift'),
        ]),
    `const norm = out.sub(mean).div(variance${eps ? `.add(${eps})` : ''}.sqrt())${after}`,
    ...(asLayerNorm ? [`// the same: new gpt.LayerNorm(${OUTPUTS}).forward(out)`] : []),
    '',
    `console.log(${text('out')})`,
    `console.log(${text('mean')})`,
    `console.log(${text('variance')})`,
    `console.log(${text('norm')})`,
    `console.log(${text('norm.mean({ dim: -1, keepdim: true })')})`,
    `console.log(${text(variance('norm'))})`,
    '',
  ].join('\n')
}
