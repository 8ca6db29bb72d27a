// What keys and pointers mean in dots, number fields and charts.

const KEYS: Readonly<Partial<Record<string, number>>> = {
  ArrowUp: 1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowLeft: -1,
  PageUp: 10,
  PageDown: -10,
  Home: -Infinity,
  End: Infinity,
}

/**
 * The steps of a key: arrows are one step, ten with shift and a tenth with alt. Page Up and Page Down are
 * ten, Home and End go to the ends.
 *
 * @returns signed; undefined if the key means nothing here
 */
export function stepsOf({ key, shiftKey, altKey }: KeyboardEvent): number | undefined {
  const steps = KEYS[key]
  return steps && steps * (shiftKey ? 10 : altKey ? 0.1 : 1)
}

export const clamp = (value: number, { min = -Infinity, max = Infinity }: { min?: number; max?: number }) =>
  Math.min(max, Math.max(min, value))

type Place = { x: number; y: number }

/** How many pixels of the window a pixel of the page is. */
export const zoom = (): number => Number(document.documentElement.style.getPropertyValue('--zoom')) || 1

/** Where the pointer is in an element, in pixels of the page. */
export function placeIn(element: Element, { clientX, clientY }: MouseEvent): Place {
  const { left, top } = element.getBoundingClientRect()
  return { x: (clientX - left) / zoom(), y: (clientY - top) / zoom() }
}

const DRAG_FROM = 6 // pixels sideways

/** Whether a finger has clearly moved sideways from where it came down. Until then it changes nothing. */
function isSideways(from: Place, to: Place): boolean {
  const across = Math.abs(to.x - from.x)
  return across >= DRAG_FROM && across >= 2 * Math.abs(to.y - from.y)
}

type InFigure<E = PointerEvent> = E & { currentTarget: SVGElement }

/** What a figure does with its dots. */
interface Dragged<Dot> {
  /** The dot under the pointer, with its middle and its number; null where there is none to drag. */
  find: (place: Place) => { dot: Dot; x: number; value: number } | null
  /** The pointer has it. */
  take: (dot: Dot) => void
  /** @param x where its middle should be */
  move: (dot: Dot, x: number) => void
  /** Takes the drag back, because the browser scrolls the page instead. @param value before the drag */
  restore: (dot: Dot, value: number) => void
  /** The pointer drags nothing. */
  hover: (place: Place) => void
}

const placeOf = (event: InFigure<MouseEvent>): Place =>
  placeIn(event.currentTarget.ownerSVGElement ?? event.currentTarget, event)

/**
 * Drags dots sideways: with a mouse from the first pixel on; with a finger, which may also scroll the page, once it has
 * clearly moved sideways.
 *
 * @returns listeners for a figure's pointer events, and whether a dot is being dragged
 */
export function dragging<Dot>({ find, take, move, restore, hover }: Dragged<Dot>) {
  /** grip: pixels from the dot's middle to the pointer; waits: the finger has not moved sideways yet */
  let drag: { dot: Dot; value: number; from: Place; grip: number; waits: boolean } | null = null
  /** Whether the last touch was a tap: it has dragged no dot. */
  let tapped = false
  return {
    get active() {
      return drag !== null
    },
    down(event: InFigure) {
      const from = placeOf(event)
      const found = event.button === 0 ? find(from) : null
      if (!found) return
      const waits = event.pointerType === 'touch'
      if (!waits) {
        event.preventDefault()
        take(found.dot)
      }
      event.currentTarget.setPointerCapture(event.pointerId)
      drag = { dot: found.dot, value: found.value, from, grip: from.x - found.x, waits }
    },
    over(event: InFigure) {
      const place = placeOf(event)
      if (!drag) return void (event.pointerType !== 'touch' && hover(place)) // a finger that moves scrolls the page
      if (drag.waits) {
        if (!isSideways(drag.from, place)) return
        drag.waits = false
        take(drag.dot)
      }
      move(drag.dot, place.x - drag.grip)
    },
    up(event: InFigure) {
      tapped = event.pointerType === 'touch' && (!drag || drag.waits)
      drag = null
    },
    /** A tap points here, not in `up`: between both events the browser moves the focus, which would end the pointing. */
    click(event: InFigure<MouseEvent>) {
      if (!tapped) return
      tapped = false
      const place = placeOf(event)
      const found = find(place)
      if (found) take(found.dot)
      else hover(place)
    },
    cancel() {
      if (drag && !drag.waits) restore(drag.dot, drag.value)
      drag = null
    },
  }
}
