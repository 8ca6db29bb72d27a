// Before the page is printed: every section is fetched, and its figures fit the paper.

/** A figure that has its size in pixels is scaled only if it says what those pixels are. */
function scale() {
  for (const svg of document.querySelectorAll('svg[width][height]:not([viewBox])')) {
    const [width, height] = ['width', 'height'].map((name) => svg.getAttribute(name))
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
    addEventListener('afterprint', () => svg.removeAttribute('viewBox'), { once: true })
  }
}

/** Whether every section is there. */
const complete = () => !document.querySelector('.section.waiting:not(:has(.problem))')
const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))

/**
 * Fetches all sections, then prints. A browser's own menu does not wait: it prints what was fetched, and the
 * rest the next time.
 */
async function printAll() {
  dispatchEvent(new Event('beforeprint'))
  while (!complete()) await frame()
  await document.fonts.ready
  await frame()
  await frame()
  print()
}

export function preparePrint() {
  addEventListener('beforeprint', scale)
  window.addEventListener('keydown', (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== 'p') return
    event.preventDefault()
    printAll()
  })
}
