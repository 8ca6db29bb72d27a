import { untrack } from 'svelte'
import { MediaQuery } from 'svelte/reactivity'
import { paper } from '../paper.svelte.ts'

const query = new MediaQuery('min-width: 60.01rem', true)

/** Whether the window is wide enough for a text beside its figure; also while the page is built. */
export const wide = {
  get current() {
    return !paper.printing && query.current
  },
}

/** The width of A4 between its margins, in pixels, at the zoom of print.css. */
const PAPER = 800

/**
 * Calls `tell` with the width of an element: once it has one, and each time it changes.
 *
 *   <div {@attach sized((now) => (width = now))}>
 *
 * On paper the width is `onPaper`, in pixels. It cannot be measured: a browser lays nothing out between the event
 * `beforeprint` and printing.
 *
 * `tell` runs in a task of its own. Svelte's `bind:clientWidth` asks at once: then the browser lays out the page in the middle of
 * its mounting, which is the longest task of the load. And what changes the layout while the observer runs is an
 * error in the console: "ResizeObserver loop completed with undelivered notifications".
 */
export const sized =
  (tell: (width: number) => void, onPaper = PAPER) =>
  (element: Element) => {
    if (paper.printing) return untrack(() => tell(onPaper))
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new ResizeObserver(() => {
      clearTimeout(timer)
      timer = setTimeout(() => tell(element.clientWidth))
    })
    observer.observe(element)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }
