import { checkOptions, checkProbability, integer, named, oneOf, sameShape } from '../check.ts'
import { fail } from '../errors.ts'
import { run } from '../runtime/runtime.ts'
import { checkTensor } from '../tensor/check.ts'
import { type Indices, checkIndices, storeIndices } from '../tensor/indices.ts'
import { temporary } from '../runtime/scope.ts'
import { sizeOf } from '../tensor/shape.ts'
import { recordKernel } from '../tensor/tape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { type LossReduction, REDUCTIONS, sumOf } from './loss.ts'

/** The target of a row that does not count, for the kernel: PyTorch's default `ignore_index`. */
const IGNORE = -100

const DEFAULTS = { ignoreIndex: IGNORE, reduction: 'mean' as LossReduction, labelSmoothing: 0 }

export interface CrossEntropyOptions {
  /** the target of a row that does not count, an integer of 32 bits; -100 by default */
  ignoreIndex?: number
  /**
   * 'mean' of the rows that count, by default; 'sum' of them; 'none': a loss for each target, 0 for one that
   * does not count
   */
  reduction?: LossReduction
  /**
   * from 0 to 1, the share of the loss that is the mean of -log softmax(logits) over all classes; 0 by
   * default
   */
  labelSmoothing?: number
}

/**
 * Cross entropy, as PyTorch's nn.functional.cross_entropy, except that the classes are always the last
 * axis. The mean over the targets of
 *
 *     -log softmax(logits)[target]
 *
 * Its gradient, 0 in the rows that do not count:
 *
 *     dlogits[r, c] = (softmax(logits[r])[c] - (c = target[r] ? 1 : 0)) / n
 *
 * With labelSmoothing s, (1 - s) · (c = target[r] ? 1 : 0) + s / classes takes the target's place. The forward
 * keeps the maximum of each row and the sum of its exponentials, from which `backward` computes softmax again.
 *
 * @param logits [..., classes], unnormalized; do not write into it before `loss.backward()`
 * @param targets [...] or flat: integers from 0 to classes - 1; -100, or `ignoreIndex`, does not count
 * @returns a tensor of shape []; NaN when no target counts. With `reduction: 'none'` one of the targets'
 *   shape
 * @throws {GptLayersError} VALUE for a target out of range
 * @example
 * const loss = gpt.crossEntropy(model.forward(tokens), targets)
 * loss.backward()
 * console.log(loss.item())
 * @example gpt.crossEntropy(gpt.zeros([2, 4]), [3, -1], { ignoreIndex: -1, reduction: 'sum' }).item() // the logarithm of 4
 */
export const crossEntropy = /* @__PURE__ */ named(
  'crossEntropy',
  (logits: Tensor, targets: Indices, options?: CrossEntropyOptions): Tensor => {
    const { ignoreIndex, reduction, labelSmoothing } = checkOptions(options, DEFAULTS, {
      ignoreIndex: integer(-(2 ** 31), 2 ** 31 - 1),
      reduction: oneOf(...REDUCTIONS),
      labelSmoothing: checkProbability,
    })
    const x = checkTensor('logits', logits)
    const cols = x.shape.at(-1)
    if (cols === undefined) {
      throw fail('SHAPE', 'logits', 'have shape [..., classes]', '[]')
    }
    const { indices, shape } = checkIndices('targets', targets, cols, ignoreIndex)
    checkTargetShape(shape, x.shape.slice(0, -1))
    const rows = indices.length
    let counted = rows
    indices.forEach((index, r) => {
      if (index !== ignoreIndex) return
      indices[r] = IGNORE
      counted--
    })

    return temporary(() => {
      const stored = storeIndices({ indices, shape: [rows] })
      const [losses, max, sum] = [shape, [rows], [rows]].map((size) => Tensor.empty(size))
      run('gpt_crossentropy_forward', [losses, max, sum, x, stored, rows, cols, labelSmoothing])
      const n = reduction === 'mean' ? counted : 1
      return recordKernel(reduction === 'none' ? losses : Tensor.full([], sumOf(losses) / n), {
        inputs: [x],
        saved: [x, max, sum, stored],
        backward: (dy, dx) => {
          const scale = reduction === 'none' ? 1 : dy.item() / n
          const read = [x, stored, max, sum, rows, cols, scale, labelSmoothing]
          run('gpt_crossentropy_backward', [dx, ...read])
          if (reduction === 'none') run('gpt_mul', [dx, dx, dy, rows, cols, cols, 1, 1, 0])
        },
      })
    })
  },
)

/** Targets have the shape of the logits without the last axis, or are flat with as many elements. */
function checkTargetShape(shape: readonly number[], expected: readonly number[]): void {
  const isFlat = shape.length === 1 && shape[0] === sizeOf(expected)
  if (isFlat || sameShape(shape, expected)) return
  const wanted = `have shape [${expected.join(', ')}] (logits without the last axis)`
  throw fail('SHAPE', 'targets', wanted, `[${shape.join(', ')}]`)
}
