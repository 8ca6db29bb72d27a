// The page's example: a batch of two samples through Linear(5, 6) and ReLU, as PyTorch draws them with seed
// 123. Its outputs are the two rows that the page normalizes.

import { linear, manualSeed, rand, randn, relu, scope, tensor, type Tensor } from 'gpt-layers'

export const SEED = 123
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

const TABLES = Object.keys(SHAPES) as TableName[]
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
