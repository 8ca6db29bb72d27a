import type { Tensor } from '../tensor/tensor.ts'
import { checkArray, checkCount, describe } from '../check.ts'
import { fail, withClass } from '../errors.ts'
import { checkTensor } from '../tensor/check.ts'
import { chain } from '../runtime/scope.ts'
import { type Context, checkContext, forwardPart, Module } from './module.ts'

/**
 * Layers one after the other, as PyTorch's nn.Sequential. Tensors between two layers are freed at once,
 * unless `backward` needs them.
 */
export class Sequential extends Module {
  /** @internal */
  static override readonly ownName: string = 'Sequential'

  layers: Module[]

  /**
   * @example new Sequential(new Linear(5, 6), new ReLU())
   */
  constructor(...modules: Module[]) {
    super()
    try {
      checkCount(arguments, Infinity)
      modules.forEach((module, i) => {
        if (!(module instanceof Module)) {
          throw fail('TYPE', `modules[${i}]`, 'be a layer', describe(module))
        }
      })
      this.layers = modules
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  /** The layers are named '0', '1', ... as in PyTorch. A subclass may have more properties. @internal */
  override ownParts(): [string, Tensor | Module][] {
    return super.ownParts().map(([name, child]) => [name.replace(/^layers\./, ''), child])
  }

  /**
   * @param x the input of the first layer
   * @param context passed on to every layer
   * @returns the output of the last layer; x itself when there are no layers
   * @throws {GptLayersError} as the layers do
   */
  override forward(x: Tensor, context?: Context): Tensor {
    const { layers } = this
    checkTensor('x', x)
    checkContext(this, context)
    checkArray('layers', layers, 'an array of layers')
    return chain(
      x,
      layers.map((layer, i) => (h) => forwardPart(`layers[${i}]`, layer, h, context)),
    )
  }
}
