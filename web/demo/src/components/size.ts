/**
 * Tells when an element has its size, and each new one:
 *
 *   <div {@attach sized((element) => (width = element.clientWidth))}>
 *
 * The first time in a task of its own. Svelte's `bind:clientWidth` asks at once: then the browser lays out the page
 * in the middle of its mounting, which is the longest task of the load.
 */
export const sized =
  <E extends Element>(tell: (element: E) => void) =>
  (element: E) => {
    let known = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new ResizeObserver(() => {
      if (known) return tell(element)
      clearTimeout(timer)
      timer = setTimeout(() => {
        known = true
        tell(element)
      })
    })
    observer.observe(element)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }
