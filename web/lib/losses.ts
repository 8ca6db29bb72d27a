import { type Check, checkOptions, checkProbability, integer, named, oneOf } from './check.ts'
import { fail } from './errors.ts'
import { run } from './runtime/runtime.ts'
import { temporary } from './runtime/scope.ts'
import { type Indices, checkIndices, storeIndices } from './tensor/indices.ts'
import { sameShape, sizeOf } from './tensor/shape.ts'
import { type Gradients, record, recordKernel } from './tensor/tape.ts'
import { checkTensor, checkTensorOf, Tensor } from './tensor/tensor.ts'

/** What becomes of the losses of the elements, as in PyTorch. */
export type LossReduction = 'none' | 'mean' | 'sum'

const isReduction: Check = /* @__PURE__ */ oneOf('none', 'mean', 'sum')

const sumOf = ({ data }: Tensor): number => data.reduce((sum, value) => sum + value, 0)

/** The target of a row that does not count, for the kernel: PyTorch's default `ignore_index`. */
const IGNORE = -100

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
    const { ignoreIndex, reduction, labelSmoothing } = checkOptions<Required<CrossEntropyOptions>>(
      options,
      { ignoreIndex: IGNORE, reduction: 'mean', labelSmoothing: 0 },
      {
        ignoreIndex: integer(-(2 ** 31), 2 ** 31 - 1),
        reduction: isReduction,
        labelSmoothing: checkProbability,
      },
    )
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

export interface MSEOptions {
  /** 'mean' of the squares, by default; their 'sum'; 'none': the squares, in the tensors' shape */
  reduction?: LossReduction
}

/**
 * The mean squared error, as PyTorch's nn.functional.mse_loss: the mean of (prediction - target)² over all
 * elements.
 *
 *     loss = Σ (prediction - target)² / n
 *     dprediction = 2 (prediction - target) / n,  dtarget = -dprediction
 *
 * The kernel computes the mean of each row of the last axis, so that threads can share the rows. The loss is
 * the mean of the means, or their sum times the size of the axis.
 *
 * @param prediction any shape; do not write into it before `loss.backward()`
 * @param target the same shape; do not write into it before `loss.backward()`
 * @returns a tensor of shape []; NaN when there are no elements. With `reduction: 'none'` one of the
 *   tensors' shape
 * @example gpt.mse(gpt.tensor([1, 2]), gpt.tensor([0, 0])).item() // 2.5
 */
export const mse = /* @__PURE__ */ named(
  'mse',
  (prediction: Tensor, target: Tensor, options?: MSEOptions): Tensor => {
    const { reduction } = checkOptions<Required<MSEOptions>>(
      options,
      { reduction: 'mean' },
      { reduction: isReduction },
    )
    const x = checkTensor('prediction', prediction)
    const t = checkTensorOf('target', target, x.shape)
    if (reduction === 'none') return temporary(() => x.sub(t).pow(2))
    const cols = x.shape.at(-1) ?? 1
    const rows = cols === 0 ? 0 : x.size / cols

    return temporary(() => {
      const losses = Tensor.empty([rows])
      run('gpt_mse_forward', [losses, x, t, rows, cols])
      const isMean = reduction === 'mean'
      const backward: Gradients = (dy, [, toTarget]) => {
        const dx = Tensor.empty(x.shape)
        run('gpt_mse_backward', [dx, x, t, x.size, (2 * dy.item()) / (isMean ? x.size : 1)])
        return [dx, toTarget ? dx.neg() : null]
      }
      const loss = isMean ? sumOf(losses) / rows : sumOf(losses) * cols
      return record(Tensor.full([], loss), [x, t], backward, [x, t])
    })
  },
)
