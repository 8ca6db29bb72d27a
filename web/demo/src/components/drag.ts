// Drags dots sideways: with a mouse from the first pixel on; with a finger, which may also scroll the page, once it
// has clearly moved sideways.

import { isSideways, placeIn } from './input.ts'

type Place = { x: number; y: number }
type InFigure = PointerEvent & { currentTarget: SVGElement }

/** What a figure does with its dots. */
export interface Dragged<Dot> {
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

const placeOf = (event: InFigure): Place =>
  placeIn(event.currentTarget.ownerSVGElement ?? event.currentTarget, event)

/** @returns listeners for a figure's pointer events, and whether a dot is being dragged */
export function dragging<Dot>({ find, take, move, restore, hover }: Dragged<Dot>) {
  /** grip: pixels from the dot's middle to the pointer; waits: the finger has not moved sideways yet */
  let drag: { dot: Dot; value: number; from: Place; grip: number; waits: boolean } | null = null
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
      if (!drag) return hover(place)
      if (drag.waits) {
        if (!isSideways(drag.from, place)) return
        drag.waits = false
        take(drag.dot)
      }
      move(drag.dot, place.x - drag.grip)
    },
    up() {
      if (drag?.waits) take(drag.dot) // a tap
      drag = null
    },
    cancel() {
      if (drag && !drag.waits) restore(drag.dot, drag.value)
      drag = null
    },
  }
}
