// What the worker shows in the page.

/** A figure. A figure of the same place in a cell's code takes its place. */
export type Figure = { place: string; title: string } & (
  | { kind: 'plot'; curves: { name: string; y: number[] }[]; x: number[] | null }
  | { kind: 'heatmap'; matrix: number[][]; rows: string[]; cols: string[] }
  | { kind: 'dots'; row: number[] }
)

/** Where an error comes from: the id of a cell and a line of it. */
export interface Where {
  cell: number
  line: number
}

export type Item =
  | { type: 'text'; text: string }
  | { type: 'error'; text: string; where: Where | null }
  | { type: 'figure'; figure: Figure }
  | { type: 'more'; count: number }
  | { type: 'file'; says: string }

/** Shows outputs of a cell. */
export type Output = (cell: number, items: Item[]) => unknown

/** How the run of a cell has ended. */
export type End = 'done' | 'failed' | 'stopped'
