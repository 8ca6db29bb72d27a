// Changes of a file's bytes.

import fc from 'fast-check'

/** @typedef {{ kind: string, at: number, length: number, value: number, from: number }} Edit at, from: shares of a file */

const share = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.double({ min: 0, max: 0.1, noNaN: true }),
)

/** @type {fc.Arbitrary<Edit>} */
export const edit = fc.record({
  kind: fc.constantFrom('byte', 'byte', 'token', 'insert', 'cut', 'double', 'splice', 'end', 'word'),
  at: share,
  length: fc.integer({ min: 1, max: 300 }),
  value: fc.nat(255),
  from: share,
})

/**
 * @param {Uint8Array} file
 * @param {Edit} edit
 * @param {readonly Uint8Array[]} tokens what the format consists of
 * @param {readonly Uint8Array[]} others files from which parts come
 * @returns {Uint8Array}
 */
export function edited(file, { kind, at, length, value, from }, tokens, others) {
  const begin = Math.floor(at * file.length)
  const part = (/** @type {number} */ end) => file.subarray(begin, end)
  const token = tokens[value % tokens.length]
  const join = (/** @type {Uint8Array[]} */ ...parts) => new Uint8Array(Buffer.concat(parts))
  const [before, after] = [file.subarray(0, begin), file.subarray(begin)]
  switch (kind) {
    case 'byte':
      return join(before, Uint8Array.of(value), after.subarray(1))
    case 'token':
      return join(before, token, after.subarray(token.length))
    case 'insert':
      return join(before, token, after)
    case 'word':
      return join(before, Uint8Array.of(255, 255, 255, value), after.subarray(4))
    case 'cut':
      return join(before, file.subarray(begin + length))
    case 'double':
      return join(before, part(begin + length), after)
    case 'splice': {
      const other = others[value % others.length]
      const start = Math.floor(from * other.length)
      return join(before, other.subarray(start, start + length), file.subarray(begin + length))
    }
    default:
      return before.slice()
  }
}
