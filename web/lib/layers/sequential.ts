import type { Runtime } from '../runtime/runtime.ts'
import type { Tensor } from '../tensor/tensor.ts'
import { checkArray, describe } from '../check.ts'
import { fail } from '../errors.ts'
import { checkTensor } from '../tensor/check.ts'
import type { Context } from './forward.ts'
import { checkContext, forwardPart, Module } from './module.ts'

/**
 * Layers one after the other, as PyTorch's nn.Sequential. Tensors between two layers are freed at once,
 * unless `backward` needs them.
 */
export class Sequential extends Module {
  layers: Module[]

  /**
   * @param modules layers of the same instance
   * @throws {GptLayersError} TYPE, VALUE
   * @example new Sequential(new Linear(5, 6), new ReLU())
   */
  constructor(runtime: Runtime, ...modules: Module[]) {
    super(runtime)
    modules.forEach((module, i) => {
      if (!(module instanceof Module)) {
        throw fail('TYPE', `modules[${i}]`, 'be a layer', describe(module))
      }
      if (module.runtime !== runtime) {
        const given = `another's ${module.constructor.name}`
        throw fail('VALUE', `modules[${i}]`, 'come from the same load()', given)
      }
    })
    this.layers = modules
  }

  /** The layers are named '0', '1', ... as in PyTorch. A subclass may have more properties. @internal */
  override children(): [string, Tensor | Module][] {
    return super.children().map(([name, child]) => [name.replace(/^layers\./, ''), child])
  }

  /**
   * @param x the input of the first layer
   * @param context passed on to every layer
   * @returns the output of the last layer; x itself when there are no layers
   * @throws {GptLayersError} as the layers do
   */
  override forward(x: Tensor, context?: Context): Tensor {
    const { runtime, layers } = this
    checkTensor(runtime, 'x', x)
    checkContext(this, context)
    checkArray('layers', layers, 'an array of layers')
    return runtime.temporary(() =>
      layers.reduce((h, layer, i) => forwardPart(runtime, `layers[${i}]`, layer, h, context), x),
    )
  }
}
