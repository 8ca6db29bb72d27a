// A program in PyTorch that prints what PyTorch.svelte shows, in its order.

import { shortest } from '../../numbers.ts'
import { cellNames, INPUTS, OUTPUTS, SAMPLES, type TableName } from '../../example.ts'
import { EPS } from '../../example-slice.ts'
import { isPlain, type Result } from './compute.ts'
import type { Settings } from './slice.ts'

/** Whether nn.LayerNorm gives the same four decimals. It rounds differently, and overflows sooner. */
const isLayerNorm = ({ divisor, eps, edits }: Settings, { mean, variance }: Result['outputs']) =>
  divisor === 'n' &&
  eps === EPS &&
  isPlain(edits) &&
  mean.every((mean, r) => Math.abs(mean) < Math.min(1e15, 20 * Math.sqrt(variance[r] + eps)))

/** @param rows the rows that were set, by their index */
export function pytorch(
  settings: Settings,
  rows: (number[] | undefined)[],
  outputs: Result['outputs'],
): string {
  const { seed, eps, edits } = settings
  const set = (table: TableName, name: string, width = 0) =>
    cellNames(table).flatMap((cell, i) => {
      const at = width ? `${Math.floor(i / width)}, ${i % width}` : i
      return cell in edits ? [`${name}[${at}] = ${shortest(edits[cell])}`] : []
    })
  const correction = settings.divisor === 'n' ? ', correction=0' : ''
  const variance = (of: string) => `${of}.var(dim=-1, keepdim=True${correction})`
  const scaled = [
    `scale, shift = torch.ones(${OUTPUTS}), torch.zeros(${OUTPUTS})`,
    ...set('gamma', 'scale'),
    ...set('beta', 'shift'),
    'norm = norm * scale + shift',
  ]
  return [
    'import torch',
    'import torch.nn as nn',
    '',
    `torch.manual_seed(${seed})`,
    `batch = torch.randn(${SAMPLES}, ${INPUTS})`,
    ...set('x', 'batch', INPUTS),
    `layer = nn.Sequential(nn.Linear(${INPUTS}, ${OUTPUTS}), nn.ReLU())`,
    ...set('w', 'layer[0].weight.data', INPUTS),
    ...set('b', 'layer[0].bias.data'),
    'out = layer(batch).detach()',
    ...rows.flatMap((row, r) => (row ? [`out[${r}] = torch.tensor([${row.map(shortest).join(', ')}])`] : [])),
    'mean = out.mean(dim=-1, keepdim=True)',
    `var = ${variance('out')}`,
    `norm = (out - mean) / torch.sqrt(${eps ? `var + ${eps}` : 'var'})`,
    ...(isLayerNorm(settings, outputs) ? [`# the same: nn.LayerNorm(${OUTPUTS})(out)`] : []),
    ...(isPlain(edits) ? [] : scaled),
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
