// Computes every number of the worked example from its settings. Uses only the package.

import type { Gpt, Tensor } from 'gpt-layers'
import { BY_HAND, LAYER_NORM } from './pytorch.ts'
import type { Settings } from './slice.ts'

export const SAMPLES = 2
export const INPUTS = 5
export const OUTPUTS = 6

/**
 * The tables of numbers that can be changed, by the names of their cells in the address: batch, weights,
 * biases, scale and shift.
 */
const SHAPES = { x: [SAMPLES, INPUTS], w: [OUTPUTS, INPUTS], b: [OUTPUTS], gamma: [OUTPUTS], beta: [OUTPUTS] }
export type TableName = keyof typeof SHAPES

/** The names of a table's cells, row-major: indices counted from 1, such as x12. */
export function cellNames(table: TableName): string[] {
  let names: string[] = [table]
  for (const n of SHAPES[table])
    names = names.flatMap((name) => Array.from({ length: n }, (_, i) => `${name}${i + 1}`))
  return names
}

export const TABLES = Object.keys(SHAPES) as TableName[]
/** The names of all cells. */
export const CELLS: ReadonlySet<string> = new Set(TABLES.flatMap(cellNames))

/**
 * The tables before any edit: batch and layer as the seed draws them, scale 1, shift 0.
 *
 * @returns by cell name
 */
export function drawn(gpt: Gpt, seed: number): Record<string, number> {
  return gpt.scope(() => {
    gpt.manualSeed(seed)
    const x = gpt.randn(SHAPES.x)
    const { weight, bias } = new gpt.Linear(INPUTS, OUTPUTS).stateDict()
    const tables = { x, w: weight, b: bias, gamma: gpt.ones([OUTPUTS]), beta: gpt.zeros([OUTPUTS]) }
    return Object.fromEntries(
      TABLES.flatMap((table) => cellNames(table).map((name, i) => [name, tables[table].data[i]])),
    )
  })
}

/** How the outputs are normalized. */
type Way = Pick<Settings, 'unbiased' | 'eps'>

/** Normalizes by hand, step by step. */
function normalize(y: Tensor, { unbiased, eps }: Way) {
  const mean = y.mean({ dim: -1, keepdim: true })
  const variance = y.var({ dim: -1, keepdim: true, unbiased })
  const centered = y.sub(mean)
  const divided = centered.div(variance.add(eps).sqrt())
  return { mean, variance, centered, divided }
}

/**
 * Every intermediate tensor, allocated in the caller's scope.
 *
 * @param cells every number that can be changed, by its name
 */
function forward(gpt: Gpt, way: Way, cells: Record<string, number>) {
  const table = (name: TableName) =>
    gpt.tensor(
      cellNames(name).map((cell) => cells[cell]),
      SHAPES[name],
    )
  const linear = new gpt.Linear(INPUTS, OUTPUTS)
  linear.loadStateDict({ weight: table('w'), bias: table('b') })
  const z = gpt.noGrad(() => linear.forward(table('x')))
  const y = new gpt.ReLU().forward(z)
  const steps = normalize(y, way)
  return { z, y, ...steps, scaled: steps.divided.mul(table('gamma')).add(table('beta')) }
}

/** Two rows of numbers. */
export interface Rows {
  /** [row][column]. */
  values: number[][]
  /** The mean of each row. */
  mean: number[]
  /** The variance of each row, divided as the settings say. */
  variance: number[]
}

const rowsOf = (tensor: Tensor): number[][] => tensor.toArray() as number[][]

const summed = (tensor: Tensor, unbiased: boolean): Rows => ({
  values: rowsOf(tensor),
  mean: Array.from(tensor.mean({ dim: -1 }).data),
  variance: Array.from(tensor.var({ dim: -1, unbiased }).data),
})

/**
 * `linear` is what Linear gives, before ReLU; `outputs` is what is normalized; `centered`, `divided` and
 * `scaled` are its steps; `layerNorm` and `byHand` are the outputs normalized in both ways, without scale and
 * shift.
 */
export type Result = ReturnType<typeof compute>

/** @param cells every number that can be changed, by its name */
export function compute(gpt: Gpt, way: Way, cells: Record<string, number>) {
  return gpt.scope(() => {
    const { unbiased } = way
    const { z, y, centered, divided, scaled } = forward(gpt, way, cells)
    const normalized = gpt.noGrad(() => new gpt.LayerNorm(OUTPUTS).forward(y))
    const before = (unbiased: boolean) => Array.from(y.var({ dim: -1, unbiased }).data)
    return {
      linear: rowsOf(z),
      outputs: summed(y, unbiased),
      centered: summed(centered, unbiased),
      divided: summed(divided, unbiased),
      scaled: summed(scaled, unbiased),
      layerNorm: { before: before(false), ...summed(normalized, false) },
      byHand: { before: before(true), ...summed(normalize(y, BY_HAND).divided, true) },
    }
  })
}

/**
 * Rows on their way from one step to the next.
 *
 * @param way from 0 to 1
 */
export function between(gpt: Gpt, from: Rows, to: Rows, way: number, unbiased: boolean): Rows {
  if (way === 1) return to
  return gpt.scope(() =>
    summed(
      gpt
        .tensor(from.values)
        .mul(1 - way)
        .add(gpt.tensor(to.values).mul(way)),
      unbiased,
    ),
  )
}

/** A tensor as PyTorch prints it. */
export interface Printed {
  name: string
  shape: number[]
  text: string
}

/**
 * @param cells every number that can be changed, by its name
 * @returns in the order in which the code of code.ts prints them
 */
export function print(gpt: Gpt, settings: Settings, cells: Record<string, number>): Printed[] {
  const options = settings.sci === 'auto' ? {} : { sciMode: settings.sci === 'on' }
  const { unbiased } = settings
  return gpt.scope(() => {
    const { y, mean, variance, scaled } = forward(gpt, settings, cells)
    const tensors = {
      out: y,
      mean,
      var: variance,
      norm: scaled,
      'norm’s mean': scaled.mean({ dim: -1, keepdim: true }),
      'norm’s var': scaled.var({ dim: -1, keepdim: true, unbiased }),
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
 * @param cells every number that can be changed, by its name
 * @returns the difference's shape, or the sentence that refuses it
 */
export function meanAlong(
  gpt: Gpt,
  settings: Settings,
  cells: Record<string, number>,
): { shape: number[]; text: string; difference: number[] | string } {
  return gpt.scope(() => {
    const { y } = forward(gpt, settings, cells)
    const mean = y.mean({ dim: settings.dim, keepdim: settings.keepdim })
    let difference
    try {
      difference = [...y.sub(mean).shape]
    } catch (error) {
      difference = (error as Error).message
    }
    return { shape: [...mean.shape], text: String(mean), difference }
  })
}

/** Whether the settings normalize as LayerNorm does, by hand as in the example, or in a way of their own. */
export function wayOf({ unbiased, eps }: Way) {
  const is = (way: typeof BY_HAND) => unbiased === way.unbiased && eps === way.eps
  return is(LAYER_NORM) ? 'layerNorm' : is(BY_HAND) ? 'byHand' : 'other'
}
