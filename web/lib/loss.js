/** @import { Indices } from './indices.js' */
/** @import { Runtime } from './runtime.js' */

import { GptLayersError } from './errors.js'
import { checkIndices, storeIndices } from './indices.js'
import { Tensor } from './tensor.js'

/** Nanoseconds an element, about: of the exponential's pass over the logits, and of one over two tensors. */
const EXPONENTIAL_TIME = 1
const DIFFERENCE_TIME = 0.2

/** A target that counts for nothing, as PyTorch's ignore_index. */
const IGNORE = -100

/**
 * What a batch cost: a number, and the gradient that a model's `backward` takes. A scope frees what it keeps for that, but
 * for a loss that it returns.
 */
export class Loss {
  /** @type {Runtime} */ #runtime
  /** @type {number} */ #value
  /** @type {Tensor[]} */ #kept
  /** @type {((kept: Tensor[]) => Tensor) | null} */ #gradient

  /**
   * @internal
   * @param {Runtime} runtime
   * @param {number} value
   * @param {Tensor[]} kept what `gradient` needs; held here
   * @param {(kept: Tensor[]) => Tensor} gradient
   */
  constructor(runtime, value, kept, gradient) {
    this.#runtime = runtime
    this.#value = value
    this.#kept = kept.map((tensor) => tensor.hold())
    this.#gradient = gradient
    runtime.memory.track(this)
  }

  /** @returns {number} the loss; float64, of float32 terms */
  item() {
    return this.#value
  }

  /**
   * The gradient of the loss with respect to the logits or the prediction, for the model's `backward`. Once, as in PyTorch:
   * what was kept for it is freed.
   *
   * @returns {Tensor} of the shape of the logits or the prediction
   * @throws {GptLayersError} VALUE the second time, DISPOSED, MEMORY
   * @example model.backward(gpt.crossEntropy(model.forward(tokens), targets).backward())
   */
  backward() {
    this.#runtime.memory.checkLive('Loss.backward')
    if (this.#gradient === null) {
      throw new GptLayersError(
        'VALUE',
        'Loss.backward: should be called once, in the scope of its loss; got a loss that was disposed or called before',
      )
    }
    const gradient = this.#gradient(this.#kept)
    this.dispose()
    return gradient
  }

  /** Frees what `backward` needs at once; disposing again is no error. */
  dispose() {
    this.#gradient = null
    for (const tensor of this.#kept.splice(0)) tensor.dispose()
  }

  // See Tensor's.
  [Symbol.dispose]() {
    this.dispose()
  }
}

/**
 * @param {Runtime} runtime
 * @param {unknown} logits
 * @param {Indices} targets
 * @returns {Loss}
 */
export function crossEntropy(runtime, logits, targets) {
  const where = 'crossEntropy'
  const x = runtime.checkTensor(where, 'logits', logits)
  const cols = x.shape.at(-1)
  if (cols === undefined)
    throw new GptLayersError('SHAPE', `${where}: logits should end in classes, got shape []`)
  const shape = x.shape.slice(0, -1)
  const { indices, shape: given } = checkIndices(runtime, where, 'targets', targets, cols, IGNORE)
  const rows = shape.reduce((product, size) => product * size, 1)
  const flat = given.length === 1 && given[0] === rows
  if (!flat && (given.length !== shape.length || given.some((size, i) => size !== shape[i]))) {
    throw new GptLayersError(
      'SHAPE',
      `${where}: targets should have shape [${shape.join(', ')}], logits without their last axis, got [${given.join(', ')}]`,
    )
  }
  return runtime.scope(() => {
    const stored = storeIndices(runtime, where, { indices, shape: [rows] })
    const [losses, max, sum] = [0, 1, 2].map(() => Tensor.empty(runtime, where, [rows]))
    runtime.parallel(
      x.size * EXPONENTIAL_TIME,
      'gpt_crossentropy_forward',
      losses.byteOffset,
      max.byteOffset,
      sum.byteOffset,
      x.byteOffset,
      stored.byteOffset,
      rows,
      cols,
    )
    const counted = indices.reduce((count, index) => count + Number(index !== IGNORE), 0)
    return new Loss(runtime, sumOf(losses) / counted, [x, max, sum, stored], ([x, max, sum, targets]) => {
      const dx = Tensor.empty(runtime, 'Loss.backward', x.shape)
      runtime.parallel(
        x.size * EXPONENTIAL_TIME,
        'gpt_crossentropy_backward',
        dx.byteOffset,
        x.byteOffset,
        max.byteOffset,
        sum.byteOffset,
        targets.byteOffset,
        rows,
        cols,
        1 / counted,
      )
      return dx
    })
  })
}

/**
 * @param {Runtime} runtime
 * @param {unknown} prediction
 * @param {unknown} target
 * @returns {Loss}
 */
export function mse(runtime, prediction, target) {
  const where = 'mse'
  const x = runtime.checkTensor(where, 'prediction', prediction)
  const t = runtime.checkTensor(where, 'target', target)
  runtime.checkParameter(where, 'target', t, x.shape)
  const cols = x.shape.at(-1) ?? 1
  const rows = cols === 0 ? 0 : x.size / cols
  return runtime.scope(() => {
    const losses = Tensor.empty(runtime, where, [rows])
    const time = x.size * DIFFERENCE_TIME
    runtime.parallel(time, 'gpt_mse_forward', losses.byteOffset, x.byteOffset, t.byteOffset, rows, cols)
    return new Loss(runtime, sumOf(losses) / rows, [x, t], ([x, t]) => {
      const dx = Tensor.empty(runtime, 'Loss.backward', x.shape)
      runtime.parallel(
        time,
        'gpt_mse_backward',
        dx.byteOffset,
        x.byteOffset,
        t.byteOffset,
        x.size,
        2 / x.size,
      )
      return dx
    })
  })
}

/** @param {Tensor} tensor */
const sumOf = ({ data }) => data.reduce((sum, value) => sum + value, 0)
