import type { Runtime } from '../runtime/runtime.ts'
import { checkChoice, checkInteger, checkOptions, checkProbability, sameShape } from '../check.ts'
import { fail } from '../errors.ts'
import { recordKernel } from '../runtime/tape.ts'
import { checkTensor } from '../tensor/check.ts'
import { type Indices, checkIndices, storeIndices } from '../tensor/indices.ts'
import { sizeOf } from '../tensor/shape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { type LossReduction, REDUCTIONS, single, sumOf } from './loss.ts'

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
 * Cross entropy: the mean over the n rows that count of
 *
 *     loss[r] = -log softmax(logits[r])[target[r]]
 *
 * Its gradient, 0 in the other rows:
 *
 *     dlogits[r, c] = (softmax(logits[r])[c] - (c = target[r] ? 1 : 0)) / n
 *
 * With labelSmoothing s, (1 - s) · (c = target[r] ? 1 : 0) + s / classes takes the target's place.
 *
 * The forward pass keeps the maximum of each row and the sum of its exponentials, not softmax itself: the
 * backward pass computes softmax from them again.
 *
 * `gpt.crossEntropy` documents the arguments.
 */
export function crossEntropy(
  runtime: Runtime,
  logits: unknown,
  targets: Indices,
  options?: CrossEntropyOptions,
): Tensor {
  const { ignoreIndex, reduction, labelSmoothing } = checkOptions(options, DEFAULTS)
  checkInteger('ignoreIndex', ignoreIndex, -(2 ** 31), 2 ** 31 - 1)
  checkChoice('reduction', reduction, REDUCTIONS)
  checkProbability('labelSmoothing', labelSmoothing)
  const x = checkTensor(runtime, 'logits', logits)
  const cols = x.shape.at(-1)
  if (cols === undefined) {
    throw fail('SHAPE', 'logits', 'have shape [..., classes]', '[]')
  }
  const { indices, shape } = checkIndices(runtime, 'targets', targets, cols, ignoreIndex)
  checkTargetShape(shape, x.shape.slice(0, -1))
  const rows = indices.length
  let counted = rows
  indices.forEach((index, r) => {
    if (index !== ignoreIndex) return
    indices[r] = IGNORE
    counted--
  })

  return runtime.temporary(() => {
    const stored = storeIndices(runtime, { indices, shape: [rows] })
    const [losses, max, sum] = [shape, [rows], [rows]].map((size) => Tensor.empty(runtime, size))
    runtime.run('gpt_crossentropy_forward', [losses, max, sum, x, stored, rows, cols, labelSmoothing])
    const n = reduction === 'mean' ? counted : 1
    return recordKernel(reduction === 'none' ? losses : single(losses, sumOf(losses) / n), {
      inputs: [x],
      saved: [x, max, sum, stored],
      backward: (dy, dx) => {
        const scale = reduction === 'none' ? 1 : dy.item() / n
        const read = [x, stored, max, sum, rows, cols, scale, labelSmoothing]
        runtime.run('gpt_crossentropy_backward', [dx, ...read])
        if (reduction === 'none') runtime.run('gpt_mul', [dx, dx, dy, rows, cols, cols, 1, 1, 0])
      },
    })
  })
}

/** Targets have the shape of the logits without the last axis, or are flat with as many elements. */
function checkTargetShape(shape: readonly number[], expected: readonly number[]): void {
  const isFlat = shape.length === 1 && shape[0] === sizeOf(expected)
  if (isFlat || sameShape(shape, expected)) return
  const wanted = `have shape [${expected.join(', ')}] (logits without the last axis)`
  throw fail('SHAPE', 'targets', wanted, `[${shape.join(', ')}]`)
}
