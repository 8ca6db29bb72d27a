// What the worker tells the page.

import type { Engine } from './engine.ts'

export type Report = ReturnType<Engine['report']>

/** How many tokens both texts have in common; Infinity where they do not differ, or there is no second one. */
export function sharedOf({ with: run, without }: Pick<Report, 'with' | 'without'>): number {
  const at = without ? run.texts.findIndex((text, i) => text !== without.texts[i]) : -1
  return at < 0 ? Infinity : at
}
