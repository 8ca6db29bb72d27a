// Parameter groups: how an optimizer makes them, and how a state dict has their options.

import { checkArray, checkObject, checkOptions } from '../check.ts'
import { checkTensorOf } from '../tensor/check.ts'
import { snakeCase } from '../tensor/pyformat.ts'
import { Tensor } from '../tensor/tensor.ts'
import { checkParameters } from './parameters.ts'

/** Options that all have a value. With exactOptionalPropertyTypes, Required would keep undefined. */
export type All<Options> = { [Name in keyof Options]-?: Exclude<Options[Name], undefined> }

/** Parameters with options of their own, for a constructor. What is left out is the optimizer's. */
export type GivenGroup<Options> = { params: readonly Tensor[] } & {
  [Name in keyof Options]?:
    Options[Name] | undefined // Partial would refuse undefined
}

/** A group of an optimizer. Its options can be set between steps. */
export type ParamGroup<Options> = {
  readonly params: readonly Tensor[]
  /** what a LambdaLR multiplies; undefined before there is one */
  initialLr?: number
} & Options

/**
 * @param parameters an array of parameters, or of groups
 * @param defaults every option, with its value where a group does not say
 */
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
    return sealed(checkParameters(params, `${name}.params`, names), checkOptions(own, defaults, name))
  })
}

/** Makes a group. Its options can be set, but none can be added: setting a misspelled one is a TypeError. */
function sealed<Options extends object>(params: readonly Tensor[], options: Options): ParamGroup<Options> {
  const copies = Object.entries(options).map(([key, value]) => [
    key,
    Array.isArray(value) ? [...value] : value,
  ])
  const group = { params: Object.freeze(params), ...Object.fromEntries(copies), initialLr: undefined }
  return Object.seal(Object.defineProperty(group, 'params', { writable: false }))
}

/** What the name of every option begins with in a state dict. */
export const GROUPS = 'param_groups.'

/** The name of an option of group i, PyTorch's: `param_groups.0.weight_decay` for weightDecay. */
const nameOf = (i: number, option: string): string => `${GROUPS}${i}.${snakeCase(option)}`

/** The names of a group's options. */
export const namesOf = (group: object, i: number): string[] =>
  Object.keys(group).map((option) => nameOf(i, option))

/**
 * A group's options as new tensors by name.
 *
 * @param first the place of its first parameter
 */
export function writeGroup(
  { params, ...options }: ParamGroup<object>,
  i: number,
  first: number,
): [string, Tensor][] {
  const values = { params: params.map((_, j) => first + j), ...options }
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([option, value]) => [nameOf(i, option), Tensor.from(Array.isArray(value) ? value : Number(value))])
}

/**
 * @param dict has the options of `writeGroup`
 * @returns a copy of the group with these options; not checked, but for their shapes
 */
export function readGroup<Options>(
  group: ParamGroup<Options>,
  i: number,
  dict: Record<string, unknown>,
): ParamGroup<Options> {
  const options = Object.entries(group).map(([option, own]) => {
    const name = nameOf(i, option)
    if (own === undefined && !Object.hasOwn(dict, name)) return [option, own]
    const { data } = checkTensorOf(name, dict[name], Array.isArray(own) ? [own.length] : [])
    const values = Array.from(data, shortest)
    return [option, Array.isArray(own) ? values : typeof own === 'boolean' ? values[0] !== 0 : values[0]]
  })
  return { ...Object.fromEntries(options), params: group.params }
}

/** The shortest decimal that float32 rounds to this number: 0.9 for 0.8999999761581421. */
function shortest(value: number): number {
  let digits = 6
  while (digits < 9 && Math.fround(Number(value.toPrecision(digits))) !== value) digits++
  return Number(value.toPrecision(digits))
}
