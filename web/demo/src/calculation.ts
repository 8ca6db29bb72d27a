// How the page prints a calculation.

import { cellText, rounded } from './numbers.ts'

/** A printed number as a term after an operator. */
export const term = (text: string): string => (text.startsWith('−') ? `(${text})` : text)

const MOST_DIGITS = 10

/**
 * Prints a calculation so that it works out: a calculator that is given the printed operands gives the printed
 * result. The operands get as many more digits as that takes.
 *
 *   const { operands: [sum], equals, result } = calculation([0.1153], (sum) => sum / 5, 0.0231)
 *
 * @param result the float32 that the page computed
 * @param digits how many decimals the result has
 * @returns `equals` is '≈' where so many digits do not give the result
 */
export function calculation(
  operands: readonly number[],
  calculate: (...operands: number[]) => number,
  result: number,
  digits = 4,
): { operands: string[]; equals: '=' | '≈'; result: string } {
  const last = cellText(result, digits)
  const print = (digits: number) => operands.map((value) => cellText(value, digits))
  for (let more = digits; more <= MOST_DIGITS; more++) {
    const found = calculate(...operands.map((value) => Number(rounded(value, more))))
    if (cellText(found, digits) === last) return { operands: print(more), equals: '=', result: last }
  }
  return { operands: print(digits), equals: '≈', result: last }
}
