// Printing: figures fit the paper, and components show what they hide on the screen.

import { flushSync } from 'svelte'
import './print.css'

/** Whether the page is being printed: a component reads it, and then shows its answer, or all of its steps. */
export const paper = $state({ printing: false })

/** A browser scales an <svg> to the paper only if it has a viewBox. */
function scale() {
  for (const svg of document.querySelectorAll('svg[width][height]:not([viewBox])')) {
    const [width, height] = ['width', 'height'].map((name) => svg.getAttribute(name))
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
    addEventListener('afterprint', () => svg.removeAttribute('viewBox'), { once: true })
  }
}

export function preparePrint() {
  // A browser that prints does not wait for fonts.
  for (const font of document.fonts) font.load().catch(() => {})
  addEventListener('beforeprint', () => {
    flushSync(() => (paper.printing = true))
    scale()
  })
  addEventListener('afterprint', () => (paper.printing = false))
}
