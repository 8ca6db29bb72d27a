// Finds by its name the tensor of a file that has the values of one of ours.

import type { GPT } from './gptnames.ts'
import type { Matrices } from './matrix.ts'
import type { Tensor } from '../tensor/tensor.ts'
import { shortName } from '../check.ts'
import { fail } from '../errors.ts'

/** Which part of c_attn: 0 is query, 1 key, 2 value. */
type Part = 0 | 1 | 2

/**
 * A part of a name. `wte` is also a part of `transformer.wte.weight`.
 *
 * | property | meaning |
 * | --- | --- |
 * | theirs, ours | the part in their file, and in our state dict. `ours: null`: the tensor is ignored |
 * | beside | only where our layer has this tensor or layer, too |
 * | weight | how the file has a matrix: `[out, in]`, as nn.Linear; `c_attn`: as the shape of c_attn says |
 * | part | the tensor is this part of ours |
 */
export interface Row {
  theirs: string
  ours: string | null
  beside?: string
  weight?: '[out, in]' | 'c_attn'
  part?: Part
}

/** PyTorch's names of the tensors of norms. */
export const NORMS: readonly Row[] = [
  { theirs: 'weight', ours: 'scale' },
  { theirs: 'bias', ours: 'shift' },
  { theirs: 'num_batches_tracked', ours: null, beside: 'running_mean' },
]

/** What torch.compile, FSDP, activation checkpoints, DataParallel and LoRA put into the names of what they wrap. */
const WRAPPER = /^(_orig_mod|_(fsdp|checkpoint)_wrapped_module|module|base_layer)$/

export const withoutWrappers = (name: string): string =>
  name
    .split('.')
    .filter((part) => !WRAPPER.test(part))
    .join('.')

/** Our tensor that a name stands for. */
interface Found {
  /** our name */
  name: string
  weight?: Row['weight']
  part?: Part
}

/** Our names, part by part. */
type Tree = Map<string, Tree>

/**
 * Makes the function that finds our name for a name in a file: null for a tensor to be ignored, undefined for
 * one that is unknown. A name that is ours comes first, then the first row that leads to one.
 *
 * @param what the argument that is the file, for errors
 * @param gpt the names of GPTs; null for a layer without matrices, which no GPT has
 * @throws {GptLayersError} VALUE for several GPTs, unless one is named as the model
 */
export function finderOf(
  what: string,
  own: readonly string[],
  theirs: readonly string[],
  gpt: typeof GPT | null,
): (name: string) => Found | null | undefined {
  const isOwn = new Set(own)
  const rows = [...(gpt?.allRows() ?? []), ...NORMS]
  const tree: Tree = new Map()
  for (const name of own) {
    let inside = tree
    for (const part of name.split('.')) {
      const next = inside.get(part) ?? new Map()
      inside.set(part, next)
      inside = next
    }
  }
  /** What all names in the file begin with, without the parts of wrappers. */
  let prefix: readonly string[] = []
  function find(name: string): Found | null | undefined {
    const parts = name.split('.')
    if (isOwn.has(name)) return { name }
    if (parts.length > 64) return undefined // a hostile name may have millions
    // The head has the first parts of the prefix only: transformer.wte.weight, lm_head.weight.
    for (let length = prefix.length; length >= 0; length--) {
      const rest = below(parts, prefix.slice(0, length))
      const found = rest ? findIn(rows, tree, rest, []) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }
  if (gpt && isOwn.has(gpt.TOKENS) && !theirs.some((name) => find(name)?.name === gpt.TOKENS)) {
    prefix = gpt.prefixIn(what, theirs)
  }
  return find
}

/** The parts of a name after a prefix, which has no parts of wrappers; null for a name without that prefix. */
function below(parts: readonly string[], prefix: readonly string[]): readonly string[] | null {
  let at = 0
  for (const part of prefix) {
    while (parts[at] !== part && WRAPPER.test(parts[at])) at++
    if (parts[at++] !== part) return null
  }
  return parts.slice(at)
}

/**
 * @param tree our names below a layer
 * @param theirs the parts of their name below that layer
 * @param path the parts of our name of that layer
 */
function findIn(
  rows: readonly Row[],
  tree: Tree,
  theirs: readonly string[],
  path: readonly string[],
): Found | null | undefined {
  const [first, ...rest] = theirs
  if (first === undefined) return tree.size === 0 ? { name: path.join('.') } : undefined
  const own = tree.get(first)
  const found = own && findIn(rows, own, rest, [...path, first])
  if (found !== undefined) return found
  for (const { theirs, ours, beside, ...how } of rows) {
    if (theirs !== first || (beside !== undefined && !tree.has(beside))) continue
    if (ours === null) {
      if (rest.length === 0) return null
      continue
    }
    const parts = ours.split('.')
    const inside = parts.reduce<Tree | undefined>((tree, part) => tree?.get(part), tree)
    const found = inside && findIn(rows, inside, rest, [...path, ...parts])
    if (found !== undefined) return found && { ...found, ...how }
  }
  return WRAPPER.test(first) ? findIn(rows, tree, rest, path) : undefined
}

/** A tensor of a file or of a dict. */
export interface TensorInfo {
  name: string
  /** as safetensors has it, such as F32 or I8 */
  dtype: string
  shape: readonly number[]
  /** two tensors with the same `values` share their numbers in the file; undefined where the file does not say */
  values?: string
}

/** What the name of the scales has after that of the int8 weight. */
export const SCALE = '_scale'

/** A tensor of ours, and the tensor of a file that has its values. */
export interface Match {
  /** our name */
  name: string
  target: Tensor
  info: TensorInfo
  /** the scales of an int8 weight */
  scale: TensorInfo | null
  /** whether the file has the matrix transposed */
  transposed: boolean
  /** which part of c_attn the file's tensor is; null for a whole tensor */
  part: Part | null
}

/** A tensor of the file, and what its name says. */
export type FileTensor = Omit<Found, 'name'> & { info: TensorInfo }

/**
 * Finds the values of each tensor of a layer. A tensor with two names may have two matches.
 *
 * @param own the layer's state dict
 * @param infos the tensors of the file
 * @returns also our names that the file lacks, and the file's that we do not know
 * @throws {GptLayersError} VALUE for a name that is missing, unknown or there twice; UNSUPPORTED for integers
 *   without scales
 */
export function matchNames(
  own: Record<string, Tensor>,
  matrices: Matrices,
  what: string,
  infos: readonly TensorInfo[],
  strict: boolean,
): { matches: Match[]; missing: string[]; unknown: string[] } {
  const theirs = infos.map(({ name }) => name)
  const gpt = matrices.values().next().value?.names ?? null
  const find = finderOf(what, Object.keys(own), theirs, gpt)
  /** By our name; a part by our name and its number, scales by our name and SCALE. */
  const sources: Map<string, FileTensor> = new Map()
  const unknown: string[] = []
  for (const info of infos) {
    const found = find(info.name)
    if (found === null) continue
    if (found) gpt?.dropBatch(found.name, info)
    const weight = info.name.endsWith(SCALE) ? find(info.name.slice(0, -SCALE.length))?.name : undefined
    const isScale = !found && weight !== undefined && matrices.has(own[weight])
    if (!found && !isScale) {
      unknown.push(info.name)
      continue
    }
    const key = found ? found.name + (found.part ?? '') : weight + SCALE
    const others = found?.part === undefined ? ['', 0, 1, 2].map((part) => key + part) : [key, found.name]
    const other = others.flatMap((name) => sources.get(name) ?? [])[0]
    if (other) {
      const names = `${shortName(other.info.name)} and ${shortName(info.name)}`
      throw fail('VALUE', what, `have ${found?.name ?? key} once`, names)
    }
    sources.set(key, { ...found, info })
  }

  const isTransposed = gpt?.transposedIn(sources, own, matrices) ?? (() => false)
  function match(name: string, from: string, part: Part | null = null): Match[] {
    const source = sources.get(from + (part ?? ''))
    const scale = sources.get(from + SCALE)?.info ?? null
    if (source) {
      const { info, weight } = source
      if (!scale) gpt?.checkFloats(info, own[name])
      return [{ name, target: own[name], info, scale, transposed: isTransposed(name, weight, !!scale), part }]
    }
    if (scale === null || Object.hasOwn(own, from + SCALE)) return []
    throw fail('VALUE', what, `have ${from}, int8`, `only ${shortName(scale.name)}`)
  }
  const matched: Set<Tensor> = new Set()
  const missing: string[] = []
  const absent: string[] = []
  const matches = Object.entries(own).flatMap(([name, target]) => {
    let all = match(name, name)
    if (all.length === 0) {
      all = ([0, 1, 2] as const).flatMap((part) => match(name, name, part))
      if (all.length % 3 !== 0) missing.push(name)
    }
    // GPT-2's file has no head: the head shares the token embedding's weight.
    if (all.length === 0 && name === gpt?.HEAD && !matched.has(target)) all = match(name, gpt.TOKENS)
    if (all.length > 0) matched.add(target)
    else absent.push(name)
    return all
  })
  missing.push(...absent.filter((name) => !matched.has(own[name]))) // a tied weight may come under either name
  if (strict && missing.length > 0) throw lacks(what, missing, unknown.length > 0 ? unknown : theirs)
  if (strict && unknown.length > 0) {
    throw fail('VALUE', what, 'have no other tensors, or come with strict: false', listed(unknown))
  }
  return { matches, missing, unknown }
}

/** @param others the names that came instead */
export const lacks = (what: string, missing: readonly string[], others: readonly string[]) =>
  fail('VALUE', what, `have ${listed(missing)}`, listed(others))

/** At most 12 names, for an error message. */
export function listed(names: readonly string[]): string {
  const more = names.length > 12 ? ` and ${names.length - 12} more` : ''
  return names.slice(0, 12).map(shortName).join(', ') + more || 'none'
}
