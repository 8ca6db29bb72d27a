import type { Tensor } from '../tensor/tensor.ts'
import { checkArray, checkCount, checkFunction, checkInteger, describe } from '../check.ts'
import { fail, withClass } from '../errors.ts'
import { Module } from './module.ts'
import { printList } from './print.ts'

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
  constructor(modules?: readonly Module[]) {
    super()
    Object.defineProperty(this, 'layers', { value: [], enumerable: true })
    try {
      checkCount(arguments, 1)
      const given = modules === undefined ? [] : modules
      checkArray('modules', given, 'an array of layers')
      given.forEach((module, i) => this.#add(`modules[${i}]`, module))
    } catch (error) {
      throw withClass(error, new.target)
    }
  }

  /** The layers are named '0', '1', ... as in PyTorch. A subclass may have properties. @internal */
  override ownParts(): [string, Tensor | Module][] {
    return super.ownParts().map(([name, child]) => [name.replace(/^layers\./, ''), child])
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

  #add(name: string, module: unknown): void {
    if (!(module instanceof Module)) throw fail('TYPE', name, 'be a layer', describe(module))
    if (module.modules().includes(this)) throw fail('VALUE', name, 'not be the list itself, or contain it')
    this.layers.push(module)
  }
}
