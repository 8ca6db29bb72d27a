// What the worker shows in the page.

/** Numbers, and perhaps what they are. */
interface Row {
  name: string
  y: number[]
}

/** A figure. A figure of the same place in a cell's code takes its place. */
export type Figure = { place: string; title: string } & (
  | { kind: 'plot'; rows: Row[]; x: number[] | null }
  | { kind: 'heatmap'; matrix: number[][]; rows: string[]; cols: string[] }
  | { kind: 'dots'; rows: Row[] }
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
