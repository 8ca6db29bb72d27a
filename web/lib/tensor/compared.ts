// What test frameworks see of a tensor, whose own state is private.

interface Owner {
  /** a text that others with the same shape and values have, too, and nothing else */
  readonly [Symbol.toStringTag]: string
}

/**
 * The property of every tensor that test frameworks compare: Node and Jest compare its tag, toMatchObject of Jest
 * and Vitest what its iterator yields.
 */
export class Compared {
  /**
   * Lets `structuredClone` and `postMessage` throw, which would give an empty object. A symbol cannot be
   * cloned; the error of Chrome and Node shows its text.
   */
  readonly structuredClone: symbol
  #owner: Owner

  constructor(owner: Owner, notCloned: symbol) {
    this.structuredClone = notCloned
    this.#owner = owner
  }

  get [Symbol.toStringTag](): string {
    return this.#owner[Symbol.toStringTag]
  }

  *[Symbol.iterator](): IterableIterator<string> {
    yield this.#owner[Symbol.toStringTag]
  }
}

const numbers: WeakMap<object, number> = new WeakMap()
let last = 0

/** A tag for what has no values, such as a disposed tensor. No two are the same. */
export function withoutValues(owner: object): string {
  const number = numbers.get(owner) ?? ++last
  numbers.set(owner, number)
  return `no values, number ${number}`
}

/** A hash of 64 bits, in hexadecimal. Two arrays of words have the same one in 1 of 2^64 cases. */
export const hashOf = (words: Int32Array): string =>
  mix(words, 0xcc9e2d51, 0x1b873593) + mix(words, 0x239b961b, 0xab0e9789)

/** The hash of the bits. Every NaN counts as the same NaN. */
export function hashOfFloats(values: Float32Array): string {
  const memory = new ArrayBuffer(4 * values.length)
  new Float32Array(memory).set(values.map((value) => (Number.isNaN(value) ? NaN : value)))
  return hashOf(new Int32Array(memory))
}

/** MurmurHash3, for 32 bits, without its end: Austin Appleby 2011, public domain. */
function mix(words: Int32Array, first: number, second: number): string {
  let hash = 0
  for (const word of words) {
    const mixed = Math.imul(rotate(Math.imul(word, first), 15), second)
    hash = (Math.imul(rotate(hash ^ mixed, 13), 5) + 0xe6546b64) | 0
  }
  return (hash >>> 0).toString(16).padStart(8, '0')
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits))
