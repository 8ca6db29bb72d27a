import type { Runtime } from '../runtime/runtime.ts'
import { sameShape } from '../check.ts'
import { fail } from '../errors.ts'
import { recordKernel } from '../runtime/tape.ts'
import { checkTensor } from '../tensor/check.ts'
import { type Indices, checkIndices, storeIndices } from '../tensor/indices.ts'
import { sizeOf } from '../tensor/shape.ts'
import { Tensor } from '../tensor/tensor.ts'
import { single, sumOf } from './loss.ts'

/** The target of a row that does not count: PyTorch's default `ignore_index`. */
const IGNORE = -100

/**
 * Cross entropy: the mean over the n rows that count of
 *
 *     loss[r] = -log softmax(logits[r])[target[r]]
 *
 * Its gradient, 0 in the other rows:
 *
 *     dlogits[r, c] = (softmax(logits[r])[c] - (c = target[r] ? 1 : 0)) / n
 *
 * The forward pass keeps the maximum of each row and the sum of its exponentials, not softmax itself: the
 * backward pass computes softmax from them again.
 *
 * `gpt.crossEntropy` documents the arguments.
 */
export function crossEntropy(runtime: Runtime, logits: unknown, targets: Indices): Tensor {
  const x = checkTensor(runtime, 'logits', logits)
  const cols = x.shape.at(-1)
  if (cols === undefined) {
    throw fail('SHAPE', 'logits', 'have shape [..., classes]', '[]')
  }
  const { indices, shape } = checkIndices(runtime, 'targets', targets, cols, IGNORE)
  checkTargetShape(shape, x.shape.slice(0, -1))
  const rows = indices.length
  const counted = indices.reduce((count, index) => count + Number(index !== IGNORE), 0)

  return runtime.temporary(() => {
    const stored = storeIndices(runtime, { indices, shape: [rows] })
    const [losses, max, sum] = [0, 1, 2].map(() => Tensor.empty(runtime, [rows]))
    runtime.run('gpt_crossentropy_forward', [losses, max, sum, x, stored, rows, cols])
    return recordKernel(single(losses, sumOf(losses) / counted), {
      inputs: [x],
      saved: [x, max, sum, stored],
      backward: (dy, dx) => {
        const scale = dy.item() / counted
        runtime.run('gpt_crossentropy_backward', [dx, x, stored, max, sum, rows, cols, scale])
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
