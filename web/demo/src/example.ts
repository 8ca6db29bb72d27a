// The page's example: a batch of two samples through Linear(5, 6) and ReLU, as PyTorch draws them with seed
// 123. Its outputs are the two rows that the page normalizes.

import { linear, manualSeed, rand, randn, relu, scope, tensor, type Tensor } from 'gpt-layers'
import type { NormSettings } from './norm.ts'

export const SEED = 123
export const SAMPLES = 2
export const INPUTS = 5
export const OUTPUTS = 6

/**
 * What PyTorch prints for the example, to four decimals. The page compares its numbers with these; it
 * computes nothing from them.
 */
export const PRINTED = {
  outputs: [
    [0.226, 0.347, 0, 0.2216, 0, 0],
    [0.2133, 0.2394, 0, 0.5198, 0.3297, 0],
  ],
  mean: [0.1324, 0.217],
  variance: [0.0192, 0.0332],
  normalized: [
    [0.6745, 1.547, -0.9549, 0.6431, -0.9549, -0.9549],
    [-0.0207, 0.1228, -1.1913, 1.6619, 0.6186, -1.1913],
  ],
  /** The notebook's first version: variance divided by n - 1, no epsilon. */
  unbiasedVariance: [0.0231, 0.0398],
  unbiasedNormalized: [
    [0.6159, 1.4126, -0.8719, 0.5872, -0.8719, -0.8719],
    [-0.0189, 0.1121, -1.0876, 1.5173, 0.5647, -1.0876],
  ],
  normalizedMean: [0, 0],
  normalizedVariance: [0.9995, 0.9997],
}

/** @returns how many of the printed numbers are here, to four decimals */
export function agreeing(shown: { [Name in keyof typeof PRINTED]?: (number | number[])[] }): number {
  return Object.entries(shown).reduce((sum, [name, values]) => {
    const printed = PRINTED[name as keyof typeof PRINTED].flat()
    return sum + values.flat().filter((value, i) => Number(value.toFixed(4)) === printed[i]).length
  }, 0)
}

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
export function drawn(seed: number): Record<string, number> {
  return scope(() => {
    manualSeed(seed)
    const x = randn(SHAPES.x).data
    // As nn.Linear does: from U[-1/√n, 1/√n), in float32.
    const end = Math.fround(1 / Math.sqrt(INPUTS))
    const uniform = (shape: number[]) => rand(shape).data.map((value) => 2 * end * value - end)
    const [w, b] = [uniform(SHAPES.w), uniform(SHAPES.b)]
    const [gamma, beta] = [1, 0].map((value) => Array(OUTPUTS).fill(value))
    const tables = { x, w, b, gamma, beta }
    return Object.fromEntries(
      TABLES.flatMap((table) => cellNames(table).map((name, i) => [name, tables[table][i]])),
    )
  })
}

/**
 * A table as a tensor, allocated in the caller's scope.
 *
 * @param cells every number that can be changed, by its name
 */
export const tableOf = (name: TableName, cells: Record<string, number>): Tensor =>
  tensor(
    cellNames(name).map((cell) => cells[cell]),
    SHAPES[name],
  )

/** What the layer gives: after Linear, and after ReLU. */
export function throughLayer(cells: Record<string, number>): { z: number[][]; y: number[][] } {
  return scope(() => {
    const z = linear(tableOf('x', cells), tableOf('w', cells), tableOf('b', cells))
    return { z: z.toArray() as number[][], y: relu(z).toArray() as number[][] }
  })
}

/** @returns [2][6], the example's outputs */
export const exampleOutputs = (): number[][] => throughLayer(drawn(SEED)).y

/**
 * The norm of the last axis, step by step, as a tensor each: what the steps are in PyTorch, in float32.
 *
 * @returns mean and variance [..., 1]; y - mean; (y - mean) / √(variance + ε)
 */
export function normSteps(y: Tensor, { divisor, eps }: NormSettings) {
  const mean = y.mean({ dim: -1, keepdim: true })
  const variance = y.var({ dim: -1, keepdim: true, unbiased: divisor === 'n-1' })
  const centered = y.sub(mean)
  return { mean, variance, centered, divided: centered.div(variance.add(eps).sqrt()) }
}

export const OUTLIER = { at: 2, value: 30 }
const OFFSET = 10_000

/** Changes to the example's first row that the opening and "How it is computed" offer. */
export const PRESETS = {
  outlier: (value: number, c: number) => (c === OUTLIER.at ? OUTLIER.value : value),
  'constant row': () => 0.5,
  'large offset': (value: number) => value + OFFSET,
}
