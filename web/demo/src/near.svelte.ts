// Work that is too much to begin with, such as a model or a worker, waits until its figure comes near the screen.

import { untrack } from 'svelte'

/** `wanted` becomes true when the reader prints, and stays so. Then every figure begins its work, near the screen or not. */
export const all = $state({ wanted: false })

/**
 * Calls once an element comes near the screen.
 *
 *   <div class="figure" {@attach whenNear(() => fetchModel())}>
 */
export const whenNear = (act: () => void) => (element: Element) => {
  if (all.wanted) return untrack(act)
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      observer.disconnect()
      act()
    },
    { rootMargin: '200%' },
  )
  observer.observe(element)
  return () => observer.disconnect()
}

const LEAST = 0.1 // the part of an element that is seen, from which on it counts

/**
 * Tells whether an element is on the screen, of a tab that is seen: at first, and whenever that changes.
 *
 *   <div class="figure" {@attach whenSeen((seen) => (visible = seen))}>
 */
export const whenSeen = (change: (seen: boolean) => void) => (element: Element) => {
  let onScreen = false
  const tell = () => change(onScreen && !document.hidden)
  const observer = new IntersectionObserver(
    (entries) => {
      onScreen = entries.at(-1)?.isIntersecting === true
      tell()
    },
    { threshold: LEAST },
  )
  observer.observe(element)
  document.addEventListener('visibilitychange', tell)
  return () => {
    observer.disconnect()
    document.removeEventListener('visibilitychange', tell)
  }
}
