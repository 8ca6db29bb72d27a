// The page on paper: every section is there, and its figures fit the paper.

import { fetched, sections } from './sections/index.ts'

/** A figure that has its size in pixels is scaled only if it says what those pixels are. */
function scale() {
  for (const svg of document.querySelectorAll('svg[width][height]:not([viewBox])')) {
    const [width, height] = ['width', 'height'].map((name) => svg.getAttribute(name))
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
    addEventListener('afterprint', () => svg.removeAttribute('viewBox'), { once: true })
  }
}

/** Fetches all sections and fonts, because a browser that prints does not wait for them. */
async function fetchAll() {
  for (const section of sections) if (document.getElementById(section.id)) await fetched(section)
  await Promise.allSettled([...document.fonts].map((font) => font.load()))
}

/** @param quiet when the page has fetched what its reader waits for */
export function preparePrint(quiet: Promise<unknown>) {
  quiet.then(fetchAll).catch(() => {}) // a section that was not fetched is fetched when it is near
  addEventListener('beforeprint', scale)
  window.addEventListener('keydown', (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== 'p') return
    event.preventDefault()
    fetchAll()
      .catch(() => {})
      .then(() => print())
  })
}
