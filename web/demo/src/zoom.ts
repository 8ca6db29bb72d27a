// The page may be zoomed: early.js says when. The browser then measures the window in other pixels than the
// page.

/** How many pixels of the window a pixel of the page is. */
export const zoom = (): number => Number(document.documentElement.style.getPropertyValue('--zoom')) || 1

/** Where the pointer is in an element, in pixels of the page. */
export function placeIn(element: Element, { clientX, clientY }: MouseEvent): { x: number; y: number } {
  const { left, top } = element.getBoundingClientRect()
  return { x: (clientX - left) / zoom(), y: (clientY - top) / zoom() }
}
