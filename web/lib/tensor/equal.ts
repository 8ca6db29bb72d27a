import { checkNonNegative, checkOptions, named } from '../check.ts'
import { repeat } from './elementwise.ts'
import { temporary } from '../runtime/scope.ts'
import { broadcast, sameShape } from './shape.ts'
import { withoutTape } from './tape.ts'
import { checkTensor, Tensor } from './tensor.ts'

/**
 * Whether two tensors have the same shape and the same elements, as torch.equal: NaN equals nothing, and -0
 * equals 0.
 *
 * @example gpt.equal(gpt.ones([2]), gpt.tensor([1, 1])) // true
 */
export const equal = /* @__PURE__ */ named('equal', (x: Tensor, y: Tensor): boolean => {
  const [a, b] = [checkTensor('x', x), checkTensor('y', y)]
  if (!sameShape(a.shape, b.shape)) return false
  const { data } = b
  return a.data.every((value, i) => value === data[i])
})

export interface AllcloseOptions {
  /** the tolerance relative to |y|; 1e-5 by default */
  rtol?: number
  /** the tolerance beside it; 1e-8 by default */
  atol?: number
  /** whether NaN equals NaN; false by default */
  equalNan?: boolean
}

/**
 * Whether |x - y| ≤ atol + rtol · |y| for all elements, as torch.allclose. Infinities of one sign are equal.
 *
 * @param y x and y broadcast as in PyTorch
 * @throws {GptLayersError} SHAPE where the shapes do not broadcast
 * @example gpt.allclose(gpt.tensor([0.1]).add(0.2), gpt.tensor([0.3])) // true
 * @example gpt.allclose(gpt.tensor([1, 1.1]), gpt.ones([2]), { atol: 0.2 }) // true
 */
export const allclose = /* @__PURE__ */ named(
  'allclose',
  (x: Tensor, y: Tensor, options?: AllcloseOptions): boolean => {
    const shape = broadcast(checkTensor('x', x).shape, checkTensor('y', y).shape, 'y')
    const { rtol, atol, equalNan } = checkOptions<Required<AllcloseOptions>>(
      options,
      { rtol: 1e-5, atol: 1e-8, equalNan: false },
      { rtol: checkNonNegative, atol: checkNonNegative },
    )
    return temporary(() =>
      withoutTape(() => {
        const repeated = [x, y].map((one) => repeat(one, shape))
        const [a, b] = repeated.map((one) => one.data)
        // Rounded as PyTorch rounds, which computes in float32.
        const { fround, abs } = Math
        const isClose = (value: number, other: number) => {
          if (value === other || (equalNan && Number.isNaN(value) && Number.isNaN(other))) return true
          const error = abs(fround(value - other))
          return error < Infinity && error <= fround(abs(fround(fround(rtol) * other)) + fround(atol))
        }
        return a.every((value, i) => isClose(value, b[i]))
      }),
    )
  },
  'rtol atol equalNan',
)
