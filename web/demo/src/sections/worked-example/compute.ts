// Computes every number of "How it is computed" from its rows and settings. Uses only the package.

import type { Gpt, Tensor } from 'gpt-layers'
import { tableOf } from '../../example.ts'
import type { Settings } from './steps.ts'

/** How the rows are normalized. */
type Way = Pick<Settings, 'divisor' | 'eps'>
type Cells = Record<string, number>

/** Every step as a tensor, allocated in the caller's scope. */
function forward(gpt: Gpt, { divisor, eps }: Way, rows: number[][], cells: Cells) {
  const y = gpt.tensor(rows)
  const mean = y.mean({ dim: -1, keepdim: true })
  const variance = y.var({ dim: -1, keepdim: true, unbiased: divisor === 'n-1' })
  const centered = y.sub(mean)
  const divided = centered.div(variance.add(eps).sqrt())
  const scaled = divided.mul(tableOf(gpt, 'gamma', cells)).add(tableOf(gpt, 'beta', cells))
  return { y, mean, variance, centered, divided, scaled }
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

const summed = (tensor: Tensor, { divisor }: Pick<Way, 'divisor'>): Numbers => ({
  values: tensor.toArray() as number[][],
  mean: Array.from(tensor.mean({ dim: -1 }).data),
  variance: Array.from(tensor.var({ dim: -1, unbiased: divisor === 'n-1' }).data),
})

export type Result = ReturnType<typeof compute>

/** @param cells scale and shift, among others, by name */
export function compute(gpt: Gpt, way: Way, rows: number[][], cells: Cells) {
  return gpt.scope(() => {
    const { y, centered, divided, scaled } = forward(gpt, way, rows, cells)
    return {
      outputs: summed(y, way),
      centered: summed(centered, way),
      divided: summed(divided, way),
      scaled: summed(scaled, way),
    }
  })
}

/**
 * Rows on their way from one step to the next.
 *
 * @param part of the way, from 0 to 1
 */
export function between(gpt: Gpt, from: Numbers, to: Numbers, part: number, way: Way): Numbers {
  if (part === 1) return to
  return gpt.scope(() => {
    const start = gpt.tensor(from.values).mul(1 - part)
    return summed(start.add(gpt.tensor(to.values).mul(part)), way)
  })
}

/** A tensor as PyTorch prints it. */
export interface Printed {
  name: string
  shape: number[]
  text: string
}

/** @returns in the order in which the code of code.ts prints them */
export function print(gpt: Gpt, settings: Settings, rows: number[][], cells: Cells): Printed[] {
  const options = settings.sci === 'auto' ? {} : { sciMode: settings.sci === 'on' }
  return gpt.scope(() => {
    const { y, mean, variance, scaled } = forward(gpt, settings, rows, cells)
    const tensors = {
      out: y,
      mean,
      var: variance,
      norm: scaled,
      'norm’s mean': scaled.mean({ dim: -1, keepdim: true }),
      'norm’s var': scaled.var({ dim: -1, keepdim: true, unbiased: settings.divisor === 'n-1' }),
    }
    return Object.entries(tensors).map(([name, tensor]) => ({
      name,
      shape: [...tensor.shape],
      text: tensor.toString(options),
    }))
  })
}

/**
 * The mean of the rows with `dim` and `keepdim`, and whether it can be subtracted from them.
 *
 * @returns the difference's shape, or the sentence that refuses it
 */
export function meanAlong(
  gpt: Gpt,
  { dim, keepdim }: Settings,
  rows: number[][],
): { shape: number[]; text: string; difference: number[] | string } {
  return gpt.scope(() => {
    const y = gpt.tensor(rows)
    const mean = y.mean({ dim, keepdim })
    let difference
    try {
      difference = [...y.sub(mean).shape]
    } catch (error) {
      difference = (error as Error).message
    }
    return { shape: [...mean.shape], text: String(mean), difference }
  })
}
