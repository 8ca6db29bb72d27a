// Layers without a kernel of their own: lists of layers, and the layer that does nothing.

import { checkArray, checkFunction, checkInteger, construct } from '../check.ts'
import { fail } from '../errors.ts'
import { type Tensor, checkTensor } from '../tensor/tensor.ts'
import { aliasOf } from '../tensor/reshape.ts'
import { type Context, checkModule, constructLayer, forwardLayers, Module } from './module.ts'
import { printList } from './print.ts'

/** The parts of a layer whose `layers` are named '0', '1', ... as in PyTorch. A subclass may have more properties. */
const numbered = (parts: [string, Tensor | Module][]): [string, Tensor | Module][] =>
  parts.map(([name, part]) => [name.replace(/^layers\./, ''), part])

/**
 * Layers one after the other, as PyTorch's nn.Sequential. Tensors between two layers are freed at once,
 * unless `backward` needs them.
 */
export class Sequential extends Module {
  /** @internal */
  static override readonly ownName: string = 'Sequential'

  layers!: Module[]

  /**
   * @example new Sequential(new Linear(5, 6), new ReLU())
   */
  constructor(...modules: Module[]) {
    super()
    constructLayer<Sequential>(this, arguments, Infinity, () => ({
      layers: modules.map((module, i) => checkModule(`modules[${i}]`, module)),
    }))
  }

  /** @internal */
  override ownParts(): [string, Tensor | Module][] {
    return numbered(super.ownParts())
  }

  /**
   * @param x the input of the first layer
   * @param context passed on to every layer
   * @returns the output of the last layer; x itself when there are no layers
   * @throws {GptLayersError} as the layers do
   */
  override forward(x: Tensor, context?: Context): Tensor {
    checkTensor('x', x)
    return forwardLayers(this.layers, x, context)
  }
}

/**
 * A list of layers, as PyTorch's nn.ModuleList. It has no `forward`: the layer that has the list calls the
 * layers in it. In a state dict they are `layers.0`, `layers.1`, ... An array of layers as a property does the
 * same.
 *
 * @example
 * const heads = new ModuleList([new gpt.Linear(3, 2), new gpt.Linear(3, 2)])
 * const x = gpt.ones([1, 3])
 * gpt.cat(heads.map((head) => head.forward(x)), { dim: -1 }).shape // [1, 4]
 */
export class ModuleList extends Module {
  /** @internal */
  static override readonly ownName: string = 'ModuleList'

  /** A property, because test frameworks compare properties. Nobody can replace it. @internal */
  declare readonly layers: Module[]

  /** @param modules none by default */
  constructor(modules: readonly Module[] = []) {
    super()
    Object.defineProperty(this, 'layers', { value: [], enumerable: true })
    construct(new.target, arguments, 1, () => {
      checkArray('modules', modules, 'an array of layers')
      modules.forEach((module, i) => this.#add(`modules[${i}]`, module))
    })
  }

  /** @internal */
  override ownParts(): [string, Tensor | Module][] {
    return numbered(super.ownParts())
  }

  /** How many layers there are. */
  get length(): number {
    return this.layers.length
  }

  /**
   * @param index from 0, or negative from the end
   * @throws {GptLayersError} VALUE where there is no such layer
   */
  at(index: number): Module {
    const { length } = this
    checkInteger('index', index, -length, length - 1)
    return this.layers[index < 0 ? index + length : index]
  }

  /** Adds a layer at the end. */
  append(module: Module): this {
    this.#add('module', module)
    return this
  }

  /** @returns what fn gives for each layer and its index: an array, as that of an array's `map` */
  map<T>(fn: (module: Module, index: number) => T): T[] {
    checkFunction('fn', fn)
    return this.layers.map((module, i) => fn(module, i))
  }

  [Symbol.iterator](): IterableIterator<Module> {
    return this.layers.values()
  }

  override toString(): string {
    return this.length === 0 ? super.toString() : printList(this.layers.map(String))
  }

  #add(name: string, given: unknown): void {
    const module = checkModule(name, given)
    if (module.modules().includes(this)) throw fail('VALUE', name, 'not be the list itself, or contain it')
    this.layers.push(module)
  }
}

/**
 * y = x, as PyTorch's nn.Identity. It takes the place of a layer that you want to do without: a model whose
 * `finalNorm` is an Identity has no final layer norm.
 */
export class Identity extends Module {
  /** @internal */
  static override readonly ownName: string = 'Identity'

  /**
   * @param x any shape, not modified
   * @returns y = x. It shares x's memory, as `x.reshape(x.shape)`
   * @example
   * model.finalNorm = new Identity()
   * model.eval().forward([0, 1, 2]).shape // [3, 5]
   */
  override forward(x: Tensor): Tensor {
    return aliasOf(checkTensor('x', x))
  }
}
