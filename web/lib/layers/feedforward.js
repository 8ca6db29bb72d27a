/** @import { Runtime } from '../runtime/runtime.js' */

import { checkNumber, checkObject, checkSize } from '../check.js'
import { checkRows, checkTensorOf } from '../tensor/check.js'
import { Tensor } from '../tensor/tensor.js'
import { Dropout } from './dropout.js'
import { GELU } from './gelu.js'
import { Linear } from './linear.js'
import { Module } from './module.js'

/**
 * From how many rows a thread on the fused kernel is cut by rows, each thread reading all the weights. Fewer are cut by
 * outputs, layer by layer, since they do not fall evenly. At GPT-2's size on two threads, cut by rows against layer by
 * layer: 6 rows 1.6 ms and 0.9, 24 rows 3.5 and 2.7, 64 rows 6.1 and 6.0; only 16 rows, 1.8 and 2.0, would gain.
 */
const ROWS_EACH = 32

/**
 * The transformer's position-wise network, as the notebook's class: Linear(embDim, hiddenDim), GELU,
 * Linear(hiddenDim, embDim), and in training dropout. In evaluation mode one kernel runs them all, so the hidden
 * activations never exist whole; in training they do, since `backward` needs them.
 */
export class FeedForward extends Module {
  /** GPT-2's names, and its Conv1D layout. @override @internal */
  static aliases = {
    'c_fc.weight': { transposed: 'layers.0.weight' },
    'c_fc.bias': 'layers.0.bias',
    'c_proj.weight': { transposed: 'layers.2.weight' },
    'c_proj.bias': 'layers.2.bias',
  }

  /**
   * Draws both layers' parameters from the instance's generator, in PyTorch's order.
   *
   * @param {Runtime} runtime
   * @param {{ embDim: number, hiddenDim?: number, approximate?: 'tanh' | 'none', dropRate?: number, nLayers?: number }}
   *   config GPT_CONFIG_124M as it is, or your own; other names in it are ignored. hiddenDim: 4 · embDim by default.
   *   approximate: as for GELU. dropRate: the probability with which training drops what comes out; 0 by default, and
   *   where the config has nLayers: it is a whole model's then, whose TransformerBlock sees to it, and the notebook's
   *   FeedForward, which takes it, never drops
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new FeedForward(GPT_CONFIG_124M).forward(gpt.rand([2, 3, 768])).shape // [2, 3, 768]
   */
  constructor(runtime, config) {
    super(runtime)
    checkObject('FeedForward', 'config', config)
    const { embDim, hiddenDim = 4 * embDim, approximate = 'tanh', dropRate = 0 } = config
    checkSize('FeedForward', 'embDim', embDim)
    checkSize('FeedForward', 'hiddenDim', hiddenDim)
    checkNumber('FeedForward', 'dropRate', dropRate, 'a number from 0 to 1', (n) => n >= 0 && n <= 1)
    /** @readonly */
    this.embDim = embDim
    /** @readonly */
    this.hiddenDim = hiddenDim
    /** @readonly */
    this.dropRate = dropRate
    /** @readonly @type {[Linear, GELU, Linear]} */
    this.layers = runtime.build(() => [
      new Linear(runtime, embDim, hiddenDim),
      new GELU(runtime, { approximate }),
      new Linear(runtime, hiddenDim, embDim),
    ])
    /** @readonly */
    this.dropout = new Dropout(runtime, 'nLayers' in config ? 0 : dropRate)
  }

  /**
   * @override
   * @param {Tensor} x [..., embDim], not modified
   * @returns {Tensor} same shape; within 1e-5 of float64 at GPT-2's size (absolute below 1, relative above)
   * @throws {GptLayersError} SHAPE when the last axis is not embDim; TYPE, DISPOSED, MEMORY
   */
  forward(x) {
    const where = 'FeedForward.forward'
    const { runtime, embDim, hiddenDim } = this
    const [first, gelu, second] = this.layers
    const rows = checkRows(runtime, where, x, embDim, 'embDim')
    const input = x
    const one = first.pointers(where)
    const two = second.pointers(where)
    const parts = runtime.timedParts(first.time(rows) + second.time(rows))
    if (this.training || (parts > 1 && rows < ROWS_EACH * parts)) {
      // the same bits as the kernel's, but for dropout
      const y = runtime.scope(() => this.dropout.forward(second.forward(gelu.forward(first.forward(input)))))
      this.save({ x: input })
      return y
    }
    return runtime.scope(() => {
      const y = Tensor.empty(runtime, where, input.shape)
      const scratch = Tensor.empty(runtime, where, [
        parts * runtime.exports.gpt_feedforward_scratch_size(rows, embDim, hiddenDim),
      ])
      runtime.inParts(
        parts,
        'gpt_feedforward_forward',
        y.byteOffset,
        scratch.byteOffset,
        input.byteOffset,
        one.weight,
        one.bias,
        two.weight,
        two.bias,
        rows,
        embDim,
        hiddenDim,
        gelu.kind,
      )
      return y
    })
  }

  /**
   * @override
   * @param {Tensor} dy [..., embDim], not modified
   * @returns {Tensor} dx, same shape
   */
  backward(dy) {
    const where = 'FeedForward.backward'
    const { runtime } = this
    const [first, gelu, second] = this.layers
    const { x } = this.saved(where)
    const gradient = checkTensorOf(runtime, where, 'dy', dy, x.shape)
    // before the first gradient is added
    first.pointers(where)
    second.pointers(where)
    const dx = runtime.scope(() =>
      first.backward(gelu.backward(second.backward(this.dropout.backward(gradient)))),
    )
    this.release()
    return dx
  }
}
