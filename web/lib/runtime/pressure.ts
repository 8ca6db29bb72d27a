const BUFFER = 2 ** 25 // bytes; glibc maps a block of this size anew, so it never becomes resident
const HELD = 8 // buffers; older ones are garbage, which still counts until the next collection
const STEPS = 8
const MOST_DOUBLINGS = 4
const MORE_THAN_ENGINES_GIVE = 2 ** 35 - 1 // bytes

/**
 * Makes the garbage collector run when the heap fills with tensors that nobody holds. To an engine a tensor
 * is a small object: the engine does not count the memory behind it. It counts ArrayBuffers, so `rise` makes
 * some that nobody touches: they take address space and no memory.
 *
 * The room is the part of the heap that was free when the count began. `rise` makes a buffer for every 32 MiB
 * by which the use grows, or for every eighth of the room if that is less. A buffer has 32 MiB in the first
 * eighth of the room, and twice as much in each further one, up to 512 MiB. V8 collects after 64 MiB, Firefox
 * after some hundred.
 *
 * From half of the room on, V8 is made to collect at once: it collects before it refuses a buffer, and also
 * when it gives one of such a size. Other engines refuse at once.
 *
 * A program that disposes its tensors pays once: only growth beyond the largest use so far counts. The first
 * unused tensor that the collector finds starts the count anew.
 */
export class Pressure {
  #limit: number
  #buffers: (ArrayBuffer | null)[] = []
  #made = 0
  #demanded = false
  #step = 0
  /** The use that counts as no pressure, in bytes. Below it, call `fall`. */
  base = 0
  /** The use, in bytes, beyond which `rise` has something to do. */
  next = 0

  /** @param limit the most bytes of the heap */
  constructor(limit: number) {
    this.#limit = limit
    this.fall(0)
  }

  /** @param used bytes of the heap, more than `next` */
  rise(used: number): void {
    for (; used > this.next; this.next += this.#step) {
      const doublings = Math.floor((STEPS * this.#made * this.#step) / (this.#limit - this.base))
      const buffer = untouched(BUFFER * 2 ** Math.min(MOST_DOUBLINGS, doublings))
      this.#buffers[this.#made++ % HELD] = buffer
    }
    if (this.#demanded || used < (this.base + this.#limit) / 2) return
    this.#demanded = true
    untouched(MORE_THAN_ENGINES_GIVE)
  }

  /** @param used bytes of the heap, less than `base` */
  fall(used: number): void {
    this.base = used
    this.#step = Math.max(1, Math.min(BUFFER, (this.#limit - used) / STEPS))
    this.next = used + (this.#made + 1) * this.#step
  }

  /**
   * The collector has found an unused tensor.
   *
   * @param used bytes of the heap, without it
   */
  relieve(used: number): void {
    this.#buffers = []
    this.#made = 0
    this.#demanded = false
    this.fall(used)
  }
}

function untouched(bytes: number): ArrayBuffer | null {
  try {
    return new ArrayBuffer(bytes)
  } catch {
    return null
  }
}
