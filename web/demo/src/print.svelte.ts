// Printing: components show what they hide on the screen. A figure fits the paper, because it has a viewBox.

import { flushSync } from 'svelte'
import './print.css'

/** Whether the page is being printed: a component reads it, and then shows its answer, or all of its steps. */
export const paper = $state({ printing: false })

export function preparePrint() {
  // A browser that prints does not wait for fonts.
  for (const font of document.fonts) font.load().catch(() => {})
  addEventListener('beforeprint', () => flushSync(() => (paper.printing = true)))
  addEventListener('afterprint', () => (paper.printing = false))
}
