// UTF-8 without TextEncoder and TextDecoder, which Jest's jsdom lacks.

/** The bytes that are decoded at once; a function takes only so many arguments. */
const CHUNK = 4096

/** @param {string} text without lone surrogates @returns {Uint8Array} */
export function encodeUtf8(text) {
  const bytes = new Uint8Array(3 * text.length)
  let length = 0
  for (const char of text) {
    const code = /** @type {number} */ (char.codePointAt(0))
    if (code < 0x80) bytes[length++] = code
    else {
      // encodeURIComponent('ü') is '%C3%BC'.
      for (const hex of encodeURIComponent(char).slice(1).split('%')) bytes[length++] = parseInt(hex, 16)
    }
  }
  return bytes.subarray(0, length)
}

/**
 * @param {Uint8Array} bytes
 * @returns {string}
 * @throws {URIError} for bytes that are not UTF-8
 */
export function decodeUtf8(bytes) {
  let text = ''
  for (let begin = 0; begin < bytes.length;) {
    let end = Math.min(begin + CHUNK, bytes.length)
    // A character has at most three bytes after its first.
    for (let i = 0; i < 3 && end < bytes.length && (bytes[end] & 0xc0) === 0x80; i++) end++
    const chunk = bytes.subarray(begin, end)
    text += chunk.every((byte) => byte < 0x80)
      ? String.fromCharCode(...chunk)
      : decodeURIComponent(escape(chunk))
    begin = end
  }
  return text
}

/** @param {Uint8Array} bytes @returns {string} such as '%C3%BC' */
const escape = (bytes) => Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
