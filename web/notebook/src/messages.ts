// What the worker shows in the page.

import type { dots, heatmap, plot } from './figures.ts'

/** A figure. A figure of the same place in a cell's code takes its place. */
export type Figure = { place: string } & ReturnType<typeof plot | typeof heatmap | typeof dots>

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
