import { checkOptions, checkSize, named } from '../check.ts'
import { fail } from '../errors.ts'
import { lowerBound } from '../runtime/memory.ts'
import * as random from '../runtime/random.ts'
import { heap } from '../runtime/runtime.ts'
import { checkIndexed } from './shape.ts'
import { checkTensor, Tensor } from './tensor.ts'
import { largest } from './topk.ts'

export interface MultinomialOptions {
  /** whether an index may be drawn again; false by default */
  replacement?: boolean
}

/**
 * Draws indices with given probabilities, as torch.multinomial. They are the indices that PyTorch 1.13 draws on
 * the CPU. Two others may draw other indices: a PyTorch with Intel's MKL without replacement, and a newer PyTorch
 * with replacement when n is 1.
 *
 * @param probabilities [classes] or [rows, classes]: finite numbers >= 0, not all 0; their sum need not be 1
 * @param n how many from each row. Without replacement, at most its elements above 0
 * @returns [n] or [rows, n] indices, which have no gradient
 * @throws {GptLayersError} VALUE, SHAPE where the probabilities are not as said
 * @example
 * gpt.manualSeed(123)
 * gpt.multinomial(gpt.tensor([0, 1, 3]), 4, { replacement: true }).toArray() // [2, 1, 2, 1]
 */
export const multinomial = /* @__PURE__ */ named(
  'multinomial',
  (probabilities: Tensor, n: number, options?: MultinomialOptions): Tensor => {
    const { shape } = checkTensor('probabilities', probabilities)
    checkSize('n', n)
    const { replacement } = checkOptions<Required<MultinomialOptions>>(options, { replacement: false })
    if (shape.length !== 1 && shape.length !== 2) {
      throw fail('SHAPE', 'probabilities', 'have 1 axis or 2', shape)
    }
    const last = shape.length - 1
    const cols = shape[last]
    checkIndexed(cols, shape)
    const rows = last === 0 ? 1 : shape[0]
    const given = probabilities.data.slice()
    for (let row = 0; row < rows; row++)
      checkRow(given.subarray(row * cols, (row + 1) * cols), n, replacement)
    const indices = Tensor.empty([...shape.slice(0, last), n])
    const draw = replacement ? drawByThresholds : drawByExponentials
    const drawn = draw(given, rows, cols, n)
    indices.data.set(drawn)
    return indices
  },
)

function checkRow(probabilities: Float32Array, n: number, replacement: boolean): void {
  let positive = 0
  for (let i = 0; i < probabilities.length; i++) {
    const probability = probabilities[i]
    if (!(probability >= 0 && probability < Infinity)) {
      throw fail('VALUE', 'probabilities', 'be finite numbers >= 0', probability)
    }
    if (probability > 0) positive++
  }
  if (positive === 0) {
    throw fail('VALUE', 'probabilities', 'have an element above 0 in each row', 'a row without')
  }
  if (n > positive && !replacement) {
    const expected = `be at most ${positive}, the elements above 0 of a row, without replacement`
    throw fail('VALUE', 'n', expected, n)
  }
}

/**
 * The first of random events comes from each with a probability that is proportional to its rate. So the n
 * largest of p / e are drawn, e from Exp(1).
 */
function drawByExponentials(p: Float32Array, rows: number, cols: number, n: number): number[] {
  const uniform = uniforms(p.length)
  const scores = p.map((probability, i) => probability / Math.fround(-Math.log(1 - uniform[i])))
  return Array.from({ length: rows }, (_, row) => [
    ...largest(scores.subarray(row * cols, (row + 1) * cols), n),
  ]).flat()
}

/** The first index at which the sum of the probabilities so far reaches a number from U[0, 1). */
function drawByThresholds(p: Float32Array, rows: number, cols: number, n: number): number[] {
  const uniform = uniforms(rows * n)
  const sums = new Float32Array(cols)
  const drawn: number[] = []
  for (let row = 0; row < rows; row++) {
    let sum = 0
    for (let i = 0; i < cols; i++) {
      sum = Math.fround(sum + p[row * cols + i])
      sums[i] = sum
    }
    for (let i = 0; i < cols; i++) sums[i] /= sum
    sums[cols - 1] = 1 // also after rounding
    for (const threshold of uniform.subarray(row * n, (row + 1) * n)) {
      drawn.push(lowerBound(sums, (sum) => sum, threshold))
    }
  }
  return drawn
}

/** U[0, 1) in float64, from the low 53 bits of two words, as PyTorch draws it. */
function uniforms(count: number): Float64Array {
  const bits = Tensor.empty([2 * count])
  random.words(bits)
  const words = heap().words(bits.byteOffset, bits.size)
  const drawn = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    drawn[i] = ((words[2 * i] & 0x1fffff) * 2 ** 32 + (words[2 * i + 1] >>> 0)) * 2 ** -53
  }
  bits.dispose()
  return drawn
}
