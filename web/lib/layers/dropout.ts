import type { Runtime } from '../runtime/runtime.ts'
import { checkProbability } from '../check.ts'
import { recordKernel } from '../runtime/tape.ts'
import { checkTensor } from '../tensor/check.ts'
import { Tensor } from '../tensor/tensor.ts'
import { Module } from './module.ts'

/**
 * Dropout (Srivastava et al. 2014, JMLR 15), as PyTorch's nn.Dropout: in training mode each element is 0 with
 * probability p, otherwise divided by 1 - p.
 *
 * `manualSeed` makes the masks reproducible, on any number of threads. They differ from PyTorch's: PyTorch
 * draws one random word per element, this layer one per call.
 */
export class Dropout extends Module {
  readonly p: number

  /**
   * @param p the probability, from 0 to 1; 0.5 by default
   * @throws {GptLayersError} TYPE, VALUE
   * @example new Dropout(0.1).forward(gpt.ones([2, 5])).shape // [2, 5]
   */
  constructor(runtime: Runtime, p?: number) {
    super(runtime)
    const given = p === undefined ? 0.5 : p
    checkProbability('p', given)
    this.p = given
  }

  override extraRepr(): string {
    return `p=${this.p}`
  }

  /**
   * @param x any shape, not modified
   * @returns a tensor of x's shape. In evaluation mode, and where p is 0, it shares x's memory, as
   *   `x.reshape(x.shape)`
   * @throws {GptLayersError} TYPE, DISPOSED, MEMORY
   */
  override forward(x: Tensor): Tensor {
    const { runtime, p } = this
    checkTensor(runtime, 'x', x)
    if (!this.training || p === 0) return x.reshape(x.shape)
    const y = Tensor.empty(runtime, x.shape)
    const seed = runtime.generator.word()
    runtime.run('gpt_dropout_forward', [y, x, x.size, seed, p])
    return recordKernel(y, {
      inputs: [x],
      saved: [],
      // The same seed gives the same mask.
      backward: (dy, dx) => runtime.run('gpt_dropout_forward', [dx, dy, dy.size, seed, p]),
    })
  }
}
