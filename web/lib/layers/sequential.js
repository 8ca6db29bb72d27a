/** @import { Runtime } from '../runtime/runtime.js' */
/** @import { Tensor } from '../tensor/tensor.js' */

import { describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { checkTensor } from '../tensor/check.js'
import { Module } from './module.js'

/** One layer after the other, as PyTorch's nn.Sequential. */
export class Sequential extends Module {
  /**
   * @param {Runtime} runtime
   * @param {...Module} modules layers of the same instance
   * @throws {GptLayersError} TYPE, VALUE
   * @example new Sequential(new Linear(5, 6), new ReLU())
   */
  constructor(runtime, ...modules) {
    super(runtime)
    modules.forEach((module, i) => {
      if (!(module instanceof Module)) {
        throw new GptLayersError(
          'TYPE',
          `Sequential: modules[${i}] should be a layer, got ${describe(module)}`,
        )
      }
      if (module.runtime !== runtime) {
        throw new GptLayersError(
          'VALUE',
          `Sequential: modules[${i}] should come from the same load(), got another's ${module.constructor.name}`,
        )
      }
    })
    /** @readonly @type {readonly Module[]} */
    this.layers = Object.freeze([...modules])
  }

  /** @override @internal @returns {[string, Module][]} '0', '1', ... as in PyTorch */
  children() {
    return this.layers.map((layer, i) => [String(i), layer])
  }

  /**
   * What lies between two layers is freed at once.
   *
   * @override
   * @param {Tensor} x what the first layer takes
   * @returns {Tensor} what the last one gives; x itself when there are none
   * @throws {GptLayersError} as the layers do
   */
  forward(x) {
    const { runtime } = this
    const input = checkTensor(runtime, 'Sequential.forward', 'x', x)
    return runtime.scope(() => this.layers.reduce((h, layer) => layer.forward(h), input))
  }

  /**
   * What lies between two layers is freed at once.
   *
   * @override
   * @param {Tensor} dy of the shape that the last layer gave, not modified
   * @returns {Tensor} dx; dy itself when there are no layers
   * @throws {GptLayersError} as the layers do
   */
  backward(dy) {
    const { runtime } = this
    const gradient = checkTensor(runtime, 'Sequential.backward', 'dy', dy)
    return runtime.scope(() => this.layers.reduceRight((d, layer) => layer.backward(d), gradient))
  }
}
