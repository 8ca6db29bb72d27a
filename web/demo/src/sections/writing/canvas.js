// What both canvases of the norms need.

/** @typedef {Record<string, string>} Colors the page's colors by their names, as they are now */

/** @param {HTMLElement} element @returns {Colors} */
export function colorsOf(element) {
  const names = ['above', 'below', 'text', 'line', 'edge', 'with', 'accent']
  const probe = document.createElement('span')
  element.append(probe)
  const colors = names.map((name) => {
    probe.style.color = `var(--${name})`
    return [name, getComputedStyle(probe).color]
  })
  probe.remove()
  return Object.fromEntries(colors)
}

/**
 * Gives a canvas its size, and what draws on it in pixels of the page.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function contextOf(canvas, width, height) {
  const ratio = devicePixelRatio
  const columns = Math.round(width * ratio)
  const lines = Math.round(height * ratio)
  if (canvas.width !== columns || canvas.height !== lines)
    Object.assign(canvas, { width: columns, height: lines })
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  return context
}
