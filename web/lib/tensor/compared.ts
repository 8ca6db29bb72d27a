// What test frameworks see of a tensor, whose own state is private.

interface Owner {
  /** a text that others with the same shape and values have, too, and nothing else */
  readonly [Symbol.toStringTag]: string
}

/**
 * A property of every tensor, which frameworks compare: Node and Jest its tag, and toMatchObject of Jest and
 * Vitest what it yields.
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

/** The tag of something without values, such as a disposed tensor: no other has it. */
export function withoutValues(owner: object): string {
  const number = numbers.get(owner) ?? ++last
  numbers.set(owner, number)
  return `no values, number ${number}`
}
