// Printing: components show what they hide on the screen, and figures are drawn as wide as the paper: see size.ts.

import { flushSync, tick } from 'svelte'
import { all } from './near.svelte.ts'
import type { Page } from './page.svelte.ts'
import { paper } from './paper.svelte.ts'
import './print.css'

const PATIENCE = 20_000 // milliseconds

/** Prints once every figure has what it shows. Those that were never near the screen begin now. */
export async function printPage(page: Page) {
  all.wanted = true
  await tick()
  const isBusy = () => document.querySelector('.section [aria-busy="true"]') !== null
  if (isBusy()) {
    page.problem = 'The figures are being computed for the paper.'
    const end = Date.now() + PATIENCE
    while (isBusy() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50))
    page.problem = ''
    await tick()
  }
  print()
}

export function preparePrint(page: Page) {
  addEventListener('keydown', (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'p') return
    event.preventDefault()
    void printPage(page)
  })
  // A browser that prints does not wait for fonts.
  for (const font of document.fonts) font.load().catch(() => {})
  addEventListener('beforeprint', () => flushSync(() => (paper.printing = true)))
  addEventListener('afterprint', () => (paper.printing = false))
}
