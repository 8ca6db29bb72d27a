/** @import { Runtime } from '../runtime.js' */

import { checkNumber, checkObject, checkSize } from '../check.js'
import { Tensor } from '../tensor.js'
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
 * Linear(hiddenDim, embDim). One kernel runs all three, so the hidden activations never exist whole.
 */
export class FeedForward extends Module {
  /**
   * Draws both layers' parameters from the instance's generator, in PyTorch's order.
   *
   * @param {Runtime} runtime
   * @param {{ embDim: number, hiddenDim?: number, approximate?: 'tanh' | 'none', dropRate?: number }} config
   *   GPT_CONFIG_124M as it is, or your own; other names in it are ignored. hiddenDim: 4 · embDim by default.
   *   approximate: as for GELU. dropRate: kept for training, which this version does not have; `forward` never drops.
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
    const { x: input, rows } = runtime.checkRows(where, x, embDim, 'embDim')
    const one = first.pointers(where)
    const two = second.pointers(where)
    const parts = runtime.partsOf(first.time(rows) + second.time(rows))
    if (parts > 1 && rows < ROWS_EACH * parts) {
      // the same bits
      return runtime.scope(() => second.forward(gelu.forward(first.forward(input))))
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
}
