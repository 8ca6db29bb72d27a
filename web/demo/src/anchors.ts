// A link to a section lands on that section, which then stays in its place while others are fetched and
// change their heights, until the reader scrolls or presses a key.

/**
 * @param hash of an address, such as '#divisor'
 * @returns the id; '' for a hash like '#100%'
 */
export function idOf(hash: string): string {
  try {
    return decodeURIComponent(hash.slice(1))
  } catch {
    return ''
  }
}

const INPUTS = ['wheel', 'touchstart', 'pointerdown', 'keydown']

/** Keeps an element at the top of the window. */
class Hold {
  #target
  /** Where the window was scrolled to. */
  #scroll = 0
  /** The layout then. */
  #layout = ''
  #observer = new ResizeObserver(() => this.#put())
  #ends = new AbortController()

  constructor(target: Element) {
    this.#target = target
    // The browser would correct the scroll position as well.
    document.documentElement.style.overflowAnchor = 'none'
    for (const section of document.querySelectorAll('main > *')) this.#observer.observe(section)
    const options = { capture: true, passive: true, signal: this.#ends.signal }
    for (const input of INPUTS) addEventListener(input, () => this.end(), options)
    // A scroll bar, or a search in the page: the window moved, and nothing else did.
    const scrolled = () => Math.abs(scrollY - this.#scroll) > 2 && this.#measure() === this.#layout
    addEventListener('scroll', () => scrolled() && this.end(), options)
    this.#put()
  }

  /** Where the element is in the document, and how tall that is. */
  #measure() {
    const top = this.#target.getBoundingClientRect().top + scrollY
    return `${Math.round(top)} ${document.documentElement.scrollHeight}`
  }

  #put() {
    this.#target.scrollIntoView()
    this.#scroll = scrollY
    this.#layout = this.#measure()
  }

  end() {
    this.#observer.disconnect()
    this.#ends.abort()
    document.documentElement.style.overflowAnchor = ''
  }
}

/** Goes to the section of the address's hash, now and whenever a link is followed. */
export function followAnchors() {
  let hold: Hold | undefined
  const go = () => {
    hold?.end()
    const target = document.getElementById(idOf(location.hash))
    if (target) hold = new Hold(target)
  }
  addEventListener('hashchange', go)
  // The link of the present hash changes none.
  addEventListener('click', ({ target }) => {
    const link = target instanceof Element && target.closest('a')
    if (link && link.hash && link.hash === location.hash && link.href === location.href) go()
  })
  go()
}
