// What both canvases of the norms need.

import { zoom } from '../../zoom.ts'

/** The page's colors by their names, as they are now. */
export type Colors = Record<string, string>

export function colorsOf(element: HTMLElement): Colors {
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

/** Gives a canvas its size, and what draws on it in pixels of the page. */
export function contextOf(canvas: HTMLCanvasElement, width: number, height: number) {
  const ratio = devicePixelRatio * zoom()
  const columns = Math.round(width * ratio)
  const lines = Math.round(height * ratio)
  if (canvas.width !== columns || canvas.height !== lines)
    Object.assign(canvas, { width: columns, height: lines })
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  return context
}
