import { MediaQuery } from 'svelte/reactivity'

/** Whether the window is wide enough for a text beside its figure; also while the page is built. */
export const wide = new MediaQuery('min-width: 60.01rem', true)

/**
 * Tells when an element has its size, and each new one:
 *
 *   <div {@attach sized((element) => (width = element.clientWidth))}>
 *
 * In a task of its own. Svelte's `bind:clientWidth` asks at once: then the browser lays out the page in the middle of
 * its mounting, which is the longest task of the load. And what changes the layout while the observer runs is an
 * error in the console: "ResizeObserver loop completed with undelivered notifications".
 */
export const sized =
  <E extends Element>(tell: (element: E) => void) =>
  (element: E) => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new ResizeObserver(() => {
      clearTimeout(timer)
      timer = setTimeout(() => tell(element))
    })
    observer.observe(element)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }
