// A program in PyTorch that prints what PyTorch.svelte shows, in its order.

import { shortest } from '../../numbers.ts'
import { cellNames, INPUTS, OUTPUTS, SAMPLES, type TableName } from '../../example.ts'
import { EPS } from '../../example-slice.ts'
import type { Row } from '../../norm.ts'
import { isPlain } from '../../example.svelte.ts'
import type { Settings } from './slice.ts'
import { differ, torchLayerNorm } from './torch.ts'

/** Whether nn.LayerNorm gives the same four decimals. Another version of PyTorch may round in another order. */
const isLayerNorm = ({ divisor, eps, edits }: Settings, outputs: Row[], norm: number[][]) =>
  divisor === 'n' &&
  eps === EPS &&
  isPlain(edits) &&
  norm.flat().every(Number.isFinite) &&
  outputs.every(
    ({ values, mean, variance }, r) =>
      Math.abs(mean) < 20 * Math.sqrt(variance + eps) && !differ(torchLayerNorm(values, eps), norm[r]),
  )

/**
 * @param rows the rows that were set, by their index
 * @param outputs all rows
 * @param norm what the code computes of them
 */
export function pytorch(
  settings: Settings,
  rows: (number[] | undefined)[],
  outputs: Row[],
  norm: number[][],
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
    'from torch import nn',
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
    ...(isLayerNorm(settings, outputs, norm) ? [`# the same: nn.LayerNorm(${OUTPUTS})(out)`] : []),
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
