// Computes every number of "How it is computed" from its rows and settings. Uses only the package.

import { scope, type Tensor, tensor } from 'gpt-layers'
import { normSteps, tableOf, type NormSettings } from '../../example.ts'
import type { Settings } from './slice.ts'

type Cells = Record<string, number>

/** Whether scale and shift are 1 and 0. */
export const isPlain = (edits: Settings['edits']) =>
  !Object.keys(edits).some((name) => /^(gamma|beta)/.test(name))

/** Every step as a tensor, allocated in the caller's scope. */
function forward(norm: NormSettings, rows: number[][], cells: Cells) {
  const y = tensor(rows)
  const steps = normSteps(y, norm)
  const scaled = steps.divided.mul(tableOf('gamma', cells)).add(tableOf('beta', cells))
  return { y, ...steps, scaled }
}

/** Two rows of numbers. */
export interface Numbers {
  /** [row][column]. */
  values: number[][]
  /** The mean of each row. */
  mean: number[]
  /** The variance of each row, divided as the settings say. */
  variance: number[]
}

const summed = (tensor: Tensor, { divisor }: NormSettings): Numbers => ({
  values: tensor.toArray() as number[][],
  mean: Array.from(tensor.mean({ dim: -1 }).data),
  variance: Array.from(tensor.var({ dim: -1, unbiased: divisor === 'n-1' }).data),
})

export type Result = ReturnType<typeof compute>

/** @param cells scale and shift, among others, by name */
export function compute(norm: NormSettings, rows: number[][], cells: Cells) {
  return scope(() => {
    const { y, centered, divided, scaled } = forward(norm, rows, cells)
    return {
      outputs: summed(y, norm),
      centered: summed(centered, norm),
      divided: summed(divided, norm),
      scaled: summed(scaled, norm),
    }
  })
}

/**
 * Rows on their way from one step to the next.
 *
 * @param part of the way, from 0 to 1
 */
export function between(from: Numbers, to: Numbers, part: number, norm: NormSettings): Numbers {
  if (part === 1) return to
  return scope(() => {
    const start = tensor(from.values).mul(1 - part)
    return summed(start.add(tensor(to.values).mul(part)), norm)
  })
}

/** @returns tensors as PyTorch prints them, by name, in the order in which the code of code.ts prints them */
export function print(settings: Settings, rows: number[][], cells: Cells): Record<string, string> {
  return scope(() => {
    const { y, mean, variance, divided, scaled } = forward(settings, rows, cells)
    // As in code.ts: adding a shift of 0 would make 0 of −0.
    const norm = isPlain(settings.edits) ? divided : scaled
    const tensors = {
      out: y,
      mean,
      var: variance,
      norm,
      'norm’s mean': norm.mean({ dim: -1, keepdim: true }),
      'norm’s var': norm.var({ dim: -1, keepdim: true, unbiased: settings.divisor === 'n-1' }),
    }
    return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, String(tensor)]))
  })
}
