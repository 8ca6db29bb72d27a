/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { AffineOptions } from './affine.js' */

import { checkSize } from '../check.js'
import { Affine } from './affine.js'

/** The standard deviation of GPT-2's initial weights. */
const DEVIATION = 0.02

/**
 * y = x · weight + bias, GPT-2's linear layer, as transformers' Conv1D: x [..., nx], weight [nx, nf]. It is a
 * Linear whose weight is stored transposed and whose sizes come in the other order.
 */
export class Conv1D extends Affine {
  /**
   * Draws the weight from N(0, 0.02) from the instance's generator, as PyTorch's nn.init.normal_. The bias is
   * zeros.
   *
   * @param {Runtime} runtime
   * @param {number} nf features that come out
   * @param {number} nx features that go in
   * @param {AffineOptions} [options]
   * @throws {GptLayersError} TYPE, VALUE, MEMORY
   * @example new Conv1D(6, 5).forward(gpt.randn([2, 5])).shape // [2, 6]
   */
  constructor(runtime, nf, nx, options = {}) {
    checkSize('nf', nf)
    checkSize('nx', nx)
    super(
      runtime,
      {
        inputs: nx,
        outputs: nf,
        inputsName: 'nx',
        weightShape: [nx, nf],
        isTransposed: true,
        forward: 'gpt_conv1d_forward',
        backward: 'gpt_conv1d_backward',
      },
      options,
      ({ weight, bias }) => {
        runtime.generator.normal(weight, DEVIATION)
        bias?.data.fill(0)
      },
    )
    /** @readonly */
    this.nf = nf
    /** @readonly */
    this.nx = nx
  }

  /** @override */
  extraRepr() {
    return `nf=${this.nf}, nx=${this.nx}`
  }
}
