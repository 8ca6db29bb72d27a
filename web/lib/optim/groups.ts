// The parameters of an optimizer, in groups with options of their own.

import { checkArray, checkObject, knownOptions } from '../check.ts'
import { fail } from '../errors.ts'
import { checkTensor, Tensor } from '../tensor/tensor.ts'

/** Options that all have a value. With exactOptionalPropertyTypes, Required would keep undefined. */
export type All<Options> = { [Name in keyof Options]-?: Exclude<Options[Name], undefined> }

/** Parameters with options of their own, for a constructor. What is left out is the optimizer's. */
export type GivenGroup<Options> = { params: readonly Tensor[] } & {
  [Name in keyof Options]?:
    Options[Name] | undefined // Partial would refuse undefined
}

/** A group of an optimizer. Its options can be set between steps. */
export type ParamGroup<Options> = { readonly params: readonly Tensor[] } & Options

export function makeGroups<Options extends object>(
  parameters: unknown,
  defaults: Options,
): readonly ParamGroup<Options>[] {
  checkArray('parameters', parameters, 'an array of Tensors')
  checkObject('defaults', defaults)
  if (!parameters.some((group) => Object.hasOwn(Object(group), 'params'))) {
    return [sealed(checkParameters(parameters), defaults)]
  }
  const names: Map<Tensor, string> = new Map()
  return parameters.map((group, i) => {
    const name = `parameters[${i}]`
    const { params, ...own } = checkObject(name, group)
    return sealed(checkParameters(params, `${name}.params`, names), knownOptions(own, defaults, name))
  })
}

/** Makes a group. Its options can be set, but none can be added: setting a misspelled one is a TypeError. */
function sealed<Options extends object>(params: readonly Tensor[], options: Options): ParamGroup<Options> {
  const copies = Object.entries(options).map(([key, value]) => [
    key,
    Array.isArray(value) ? [...value] : value,
  ])
  const group = { ...Object.fromEntries(copies), params: Object.freeze(params) }
  return Object.seal(Object.defineProperty(group, 'params', { writable: false }))
}

/**
 * An array of live tensors, each of them once.
 *
 * @param names what has come before, by its name: the parameters of earlier groups
 * @returns a copy
 */
export function checkParameters(
  parameters: unknown,
  name: string = 'parameters',
  names: Map<Tensor, string> = new Map(),
): readonly Tensor[] {
  checkArray(name, parameters, 'an array of Tensors')
  return Array.from(parameters, (value, i) => {
    const own = `${name}[${i}]`
    const parameter = checkTensor(own, value)
    if (parameter.step !== null) {
      const expected = 'a leaf, such as a layer has in parameters(), got a computed tensor'
      throw fail('VALUE', own, `be ${expected}`)
    }
    const first = names.get(parameter)
    if (first !== undefined) throw fail('VALUE', own, `differ from ${first}`, 'the same Tensor')
    names.set(parameter, own)
    return parameter
  })
}

/**
 * The gradient of a parameter, or null if it has none. Optimizers and clipping skip such a parameter, as PyTorch
 * does.
 *
 * @param i its place among all parameters
 */
export function gradientOf(parameter: Tensor, i: number): Tensor | null {
  const { grad } = checkTensor(`parameters[${i}]`, parameter)
  return grad === null || grad.disposed ? null : grad
}
