// How Python spells names and numbers. JavaScript's toFixed and toExponential differ from Python's formats in
// two ways: they round a tie up where Python rounds it to the even digit, and toFixed turns to e-notation
// from 1e21 on.

/**
 * Python's f'{x:.{digits}f}'.
 *
 * @param x a finite float32, >= 0
 * @param digits after the point
 * @example fixed(0.125, 2) // '0.12'
 */
export function fixed(x: number, digits: number): string {
  // A float32 of 2^24 or more is an integer.
  if (x >= 1e21) return BigInt(x) + (digits > 0 ? '.' + '0'.repeat(digits) : '')
  return roundHalfToEven(x, digits, (more) => x.toFixed(digits + more))
}

/**
 * Python's f'{x:.{digits}e}'.
 *
 * @param x a finite float32, >= 0
 * @param digits after the point
 * @example exponential(0.25, 0) // '2e-01'
 */
export function exponential(x: number, digits: number): string {
  const power = Number(x.toExponential().split('e')[1])
  const text = roundHalfToEven(x, digits - power, (more) => x.toExponential(digits + more))
  return text.replace(/[+-](?=\d$)/, '$&0') // JavaScript's e-8 is e-08 in Python
}

/** Python's repr of a float below 1e16: 1e-5 is '1e-05'. */
export const pythonNumber = (x: number): string =>
  x > 0 && x < 1e-4 ? x.toExponential().replace(/-(?=\d$)/, '-0') : String(x)

/**
 * Rounds to the nearest multiple of u = 10^-decimals, and a tie (x half way between two multiples) to the
 * even one.
 *
 * x is a tie exactly if 2x / u is an odd integer. With d = decimals,
 *
 *     2x / u = 2x · 10^d = (x · 2^(d + 1)) · 5^d
 *
 * is one if x · 2^(d + 1) is an odd integer and, where d < 0, a multiple of 5^-d. x has only 24 significant
 * bits, so float64 computes both tests without error.
 *
 * @param x a finite float32, >= 0
 * @param decimals kept digits after the point; if negative, dropped digits before the point
 * @param write the text of x with so many more digits; rounds a tie up
 */
function roundHalfToEven(x: number, decimals: number, write: (more: number) => string): string {
  const halves = x * 2 ** (decimals + 1)
  const isTie = halves % 2 === 1 && (decimals >= 0 || halves % 5 ** -decimals === 0)
  if (!isTie) return write(0)
  // With one more digit the text is exact and ends in 5. After an even digit, dropping the 5 is the even
  // rounding; after an odd digit, rounding up is.
  const [, even, power = ''] = /^([\d.]*[02468])\.?5(e.*)?$/.exec(write(1)) ?? []
  return even === undefined ? write(0) : even + power
}

/** A property's name in a state dict: `runningMean` becomes `running_mean`, and `W_query` stays. */
export function snakeCase(name: string): string {
  if (!/^[a-z][a-zA-Z0-9.]*$/.test(name)) return name
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
