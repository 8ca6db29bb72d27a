import type { Module } from '../layers/module.ts'
import type { Matrices } from '../tensor/int8weight.ts'
import { describe, shortName } from '../check.ts'
import { type GptLayersError, fail } from '../errors.ts'
import { Tensor } from '../tensor/tensor.ts'

/** The name of a property in a state dict: running_mean for runningMean. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const classOf = (module: Module) => module.constructor as typeof Module

/** Keeps each value once, under the first of its names. */
export function firstNames<T>(named: [string, T][]): [string, T][] {
  const seen = new Set()
  return named.filter(([, value]) => !seen.has(value) && seen.add(value))
}

/** A tensor of a layer, and where a checkpoint has its values. */
export interface Assignment {
  /** the tensor's name in the layer's state dict */
  name: string
  target: Tensor
  /** the name in the checkpoint */
  given: string
  /** the name of its scales, where the checkpoint has an int8 weight */
  scale: string | null
  /** whether the checkpoint has the matrix transposed */
  transposed: boolean
  /** whether the matrix in the checkpoint is [inputs, outputs]; not where it is int8 */
  turned: boolean
}

/**
 * Where a checkpoint has the values of each tensor of a layer; a tensor with two names may have two places.
 *
 * @param what the name of the argument that is the checkpoint, for errors
 * @param names the names in the checkpoint, ours or foreign
 * @param matrices the module's
 * @throws {GptLayersError} VALUE for a name that is missing, unknown or there twice
 */
export function assignments(
  module: Module,
  what: string,
  names: readonly string[],
  matrices: Matrices,
): Assignment[] {
  const { substitutes } = classOf(module)
  const own = module.stateDict()
  const known = new Names(module)
  const found = match(known, what, names, own, matrices)
  const seen: Set<Tensor> = new Set()
  return Object.entries(own).flatMap(([name, target]) => {
    const isSeen = seen.has(target)
    const from = found.has(name) || isSeen ? name : substitutes[name]
    const source = found.get(from)
    if (source) {
      seen.add(target)
      const scale = Object.hasOwn(own, from + SCALE) ? null : (found.get(from + SCALE)?.given ?? null)
      const isConv1D = matrices.get(target)?.transposed ?? false
      const transposed = scale === null ? source.transposed : isConv1D
      return [{ name, target, given: source.given, scale, transposed, turned: transposed !== isConv1D }]
    }
    if (isSeen) return []
    const foreign = known.foreign(name)
    const both = foreign === name ? name : `${name}, or ${foreign}`
    throw fail('VALUE', what, `have ${both}`, listed(names, 'none'))
  })
}

export const notFinite = (name: string): GptLayersError =>
  fail('VALUE', shortName(name), 'be finite to become int8', 'NaN or an infinity')

/**
 * @param own the module's state dict
 * @returns the checkpoint's names by ours; the scales of an int8 weight by the name of the weight and SCALE
 */
function match(
  known: Names,
  what: string,
  names: readonly string[],
  own: Record<string, Tensor>,
  matrices: Matrices,
): Map<string, Pick<Assignment, 'given' | 'transposed'>> {
  const found: ReturnType<typeof match> = new Map()
  for (const given of names) {
    const place = known.resolve(given)
    if (place === null) continue
    const { name, transposed } = place
    const isOwn = Object.hasOwn(own, name)
    const weight = isOwn ? null : weightOfScales(known, given, own, matrices)
    if (weight === null && !isOwn) {
      throw fail('VALUE', what, `have ${listed(Object.keys(own), 'no parameters')}`, describe(given))
    }
    const key = weight === null ? name : weight + SCALE
    const other = found.get(key)
    if (other) {
      throw fail('VALUE', what, `have ${key} once`, `${shortName(other.given)} and ${shortName(given)}`)
    }
    found.set(key, { given, transposed })
  }
  for (const [key, { given }] of found) {
    const weight = key.slice(0, -SCALE.length)
    if (Object.hasOwn(own, key) || found.has(weight)) continue
    throw fail('VALUE', what, `have ${weight}, int8`, `only ${shortName(given)}`)
  }
  return found
}

/** What the name of the scales has after that of the int8 weight. */
export const SCALE = '_scale'

/**
 * @param given a name in a checkpoint
 * @param own the module's state dict
 * @returns our name of the int8 weight of which these are the scales
 */
function weightOfScales(
  known: Names,
  given: string,
  own: Record<string, Tensor>,
  matrices: Matrices,
): string | null {
  if (!given.endsWith(SCALE)) return null
  const weight = known.resolve(given.slice(0, -SCALE.length))?.name
  return weight !== undefined && Object.hasOwn(own, weight) && matrices.has(own[weight]) ? weight : null
}

/** The layers inside of a layer by the first part of their names, such as `trf_blocks.0`. */
type Inside = { layers: Map<string, Module>; longest: number }

/** Reads the names of a checkpoint. The time for a name does not grow with the number of layers. */
class Names {
  #inside: Map<Module, Inside> = new Map()
  #root

  constructor(root: Module) {
    this.#root = root
  }

  /**
   * @param given a name in a checkpoint: ours, PyTorch's or GPT-2's
   * @returns the name in `stateDict`; null for an entry to be ignored
   */
  resolve(given: string, module: Module = this.#root): { name: string; transposed: boolean } | null {
    const { aliases, foreignPrefix } = classOf(module)
    const name = foreignPrefix && given.startsWith(foreignPrefix) ? given.slice(foreignPrefix.length) : given
    const alias = Object.keys(aliases).find((alias) => name === alias || name.startsWith(`${alias}.`))
    const own = alias === undefined ? '' : aliases[alias]
    if (own === null) return null
    if (typeof own === 'object') return { name: own.transposed, transposed: true }
    const full = alias === undefined ? name : own + name.slice(alias.length)
    const layer = this.#layerOf(full, module)
    if (layer === null) return { name: full, transposed: false }
    const [dot, child] = layer
    const inside = this.resolve(full.slice(dot + 1), child)
    return inside && { ...inside, name: full.slice(0, dot + 1) + inside.name }
  }

  /**
   * @param own a name in `stateDict`
   * @returns the name in PyTorch's or GPT-2's checkpoint; `own` where it is the same
   */
  foreign(own: string, module: Module = this.#root): string {
    const aliases = Object.entries(classOf(module).aliases)
    const whole = aliases.find(([, name]) => (typeof name === 'string' ? name : name?.transposed) === own)
    if (whole) return whole[0]
    const layer = this.#layerOf(own, module)
    if (layer === null) return own
    const [dot, child] = layer
    const full = own.slice(0, dot + 1) + this.foreign(own.slice(dot + 1), child)
    const [alias, name] =
      aliases.find(([, name]) => typeof name === 'string' && full.startsWith(`${name}.`)) ?? []
    return typeof name === 'string' ? alias + full.slice(name.length) : full
  }

  #layerOf(name: string, module: Module): [number, Module] | null {
    const { layers, longest } = this.#insideOf(module)
    for (let dot = name.indexOf('.'); dot >= 0 && dot <= longest; dot = name.indexOf('.', dot + 1)) {
      const child = layers.get(name.slice(0, dot))
      if (child) return [dot, child]
    }
    return null
  }

  #insideOf(module: Module): Inside {
    const known = this.#inside.get(module)
    if (known) return known
    const layers = new Map()
    let longest = 0
    for (const [property, child] of module.children()) {
      const name = snakeCase(property)
      if (child instanceof Tensor || layers.has(name)) continue
      layers.set(name, child)
      longest = Math.max(longest, name.length)
    }
    this.#inside.set(module, { layers, longest })
    return { layers, longest }
  }
}

/**
 * @param none the text for no names
 * @returns at most 12 of them, for an error message
 */
export function listed(names: readonly string[], none: string): string {
  const more = names.length > 12 ? ` and ${names.length - 12} more` : ''
  return names.slice(0, 12).map(shortName).join(', ') + more || none
}

export function areFinite(values: ArrayLike<number>): boolean {
  for (let i = 0; i < values.length; i++) if (!(Math.abs(values[i]) < Infinity)) return false
  return true
}
