// What the page and the worker say to each other.

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

/** To the page: outputs of a cell; that it has ended; that the WebAssembly is needed. */
export type FromWorker =
  | { type: 'output'; cell: number; items: Item[] }
  | { type: 'done'; cell: number; failed: boolean }
  | { type: 'wasm' }

export type ToWorker =
  | { type: 'run'; cell: number; code: string }
  | { type: 'wasm'; bytes: ArrayBuffer }
  | { type: 'file'; bytes: ArrayBuffer }
