// A hash, by which test frameworks tell large tensors apart.

/** @returns 64 bits in hexadecimal. Other words have another hash, but for one pair in 2^64 */
export const hashOf = (words: Int32Array): string =>
  mix(words, 0xcc9e2d51, 0x1b873593) + mix(words, 0x239b961b, 0xab0e9789)

/** @returns the hash of the bits. Every NaN has the same */
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
