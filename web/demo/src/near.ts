/**
 * Calls once an element comes near the screen, for what is too much work to begin with: a model, a worker.
 *
 *   <div class="figure" {@attach whenNear(() => fetchModel())}>
 */
export const whenNear = (act: () => void) => (element: Element) => {
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
