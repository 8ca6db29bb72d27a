// The names of tensors in the files that people have, and which of our tensors gets their values.

import type { Matrices } from '../tensor/int8weight.ts'
import type { Tensor } from '../tensor/tensor.ts'
import { shortName } from '../check.ts'
import { fail } from '../errors.ts'

/**
 * A part of a name. `wte` is also a part of `transformer.wte.weight`.
 *
 * | property | meaning |
 * | --- | --- |
 * | theirs, ours | the part in their file, and in our state dict. `ours: null`: the tensor is ignored |
 * | beside | only where our layer has this tensor or layer, too |
 * | weight | how the file has a matrix: `[out, in]`, as nn.Linear; `c_attn`: as the shape of c_attn says |
 * | third | the tensor is the first, second or last third of our outputs: 0, 1 or 2 |
 */
interface Row {
  theirs: string
  ours: string | null
  beside?: string
  weight?: '[out, in]' | 'c_attn'
  third?: 0 | 1 | 2
}

/** A name that is in our state dict comes first, then the first row that leads to one. */
const ROWS: readonly Row[] = [
  // GPT-2: OpenAI's and Hugging Face's files have weights [in, out], nanoGPT's and minGPT's [out, in].
  { theirs: 'wte', ours: 'tok_emb' },
  { theirs: 'wpe', ours: 'pos_emb' },
  { theirs: 'h', ours: 'trf_blocks', weight: 'c_attn' },
  { theirs: 'ln_1', ours: 'norm1' },
  { theirs: 'ln_2', ours: 'norm2' },
  { theirs: 'ln_f', ours: 'final_norm' },
  { theirs: 'lm_head', ours: 'out_head' },
  { theirs: 'mlp', ours: 'ff' },
  { theirs: 'c_fc', ours: 'layers.0', weight: 'c_attn' },
  { theirs: 'c_proj', ours: 'layers.2', weight: 'c_attn' },
  { theirs: 'bias', ours: null, beside: 'c_attn' }, // the mask
  { theirs: 'masked_bias', ours: null, beside: 'c_attn' },

  // The book
  { theirs: 'att', ours: 'attn' },
  { theirs: 'W_query', ours: 'c_attn', weight: '[out, in]', third: 0 },
  { theirs: 'W_key', ours: 'c_attn', weight: '[out, in]', third: 1 },
  { theirs: 'W_value', ours: 'c_attn', weight: '[out, in]', third: 2 },
  { theirs: 'qkv', ours: 'c_attn', weight: '[out, in]' },
  { theirs: 'out_proj', ours: 'c_proj', weight: '[out, in]' },
  { theirs: 'proj', ours: 'c_proj', weight: '[out, in]' },
  { theirs: 'mask', ours: null, beside: 'c_attn' },

  // minGPT before 2022
  { theirs: 'pos_emb', ours: 'pos_emb.weight' },
  { theirs: 'blocks', ours: 'trf_blocks', weight: '[out, in]' },
  { theirs: 'ln1', ours: 'norm1' },
  { theirs: 'ln2', ours: 'norm2' },
  { theirs: 'query', ours: 'c_attn', third: 0, beside: 'c_attn' },
  { theirs: 'key', ours: 'c_attn', third: 1, beside: 'c_attn' },
  { theirs: 'value', ours: 'c_attn', third: 2, beside: 'c_attn' },
  { theirs: 'mlp', ours: 'ff.layers' },
  { theirs: 'head', ours: 'out_head' },

  // PyTorch's norms
  { theirs: 'weight', ours: 'scale' },
  { theirs: 'bias', ours: 'shift' },
  { theirs: 'num_batches_tracked', ours: null, beside: 'running_mean' },
]

/** What torch.compile, FSDP, activation checkpoints, DataParallel and LoRA put into the names of what they wrap. */
const WRAPPER = /^(_orig_mod|_(fsdp|checkpoint)_wrapped_module|module|base_layer)$/

/** A name without the parts of wrappers. */
export const unwrapped = (name: string): string =>
  name
    .split('.')
    .filter((part) => !WRAPPER.test(part))
    .join('.')

export const TOKENS = 'tok_emb.weight'
export const HEAD = 'out_head.weight'

/**
 * An embedding in a file. What stands before its name, such as `transformer.`, stands before all names there. A
 * tied file may lack wte.
 */
const EMBEDDING = /^((?:[^.]+\.){0,20})(?:wte|wpe|tok_emb)\.weight$/

/** Whether this name in a file is that of a GPT's embedding. */
export const isEmbedding = (theirs: string): boolean => EMBEDDING.test(unwrapped(theirs))

/** The words for a model in a file that has more beside it, such as an average of its weights. */
const MODELS = ['model', 'model_state_dict', 'module', 'state_dict', 'transformer']

/**
 * Chooses one of several GPTs in a file.
 *
 * @param what the argument that is the file, for errors
 * @param paths where the GPTs are, such as `ema.module`
 * @throws {GptLayersError} VALUE where the paths do not say which is the model
 */
export function modelAmong(what: string, paths: readonly string[]): string {
  const all = paths.map((path) => path.split('.'))
  const shared = all[0].findIndex((part, i) => all.some((parts) => parts[i] !== part))
  const named = paths.filter((_, i) => all[i].slice(shared).every((part) => MODELS.includes(part)))
  const [one, ...others] = paths.length === 1 ? paths : named
  if (one !== undefined && others.length === 0) return one
  throw fail('VALUE', what, 'have one GPT, or one named model, module or state_dict', listed(paths))
}

/** Our tensor that a name stands for. */
interface Found {
  name: string
  weight?: Row['weight']
  third?: Row['third']
}

/** Our names, part by part. */
type Tree = Map<string, Tree>

/** Finds our name for a name in a file. */
export class Names {
  #own: ReadonlySet<string>
  #tree: Tree = new Map()
  /** without the parts of wrappers */
  #prefix: readonly string[] = []

  /**
   * @param what the argument that is the file, for errors
   * @param own our names
   * @param theirs all names in the file
   * @throws {GptLayersError} VALUE for several GPTs, unless one is named as the model
   */
  constructor(what: string, own: readonly string[], theirs: readonly string[]) {
    this.#own = new Set(own)
    for (const name of own) {
      let tree = this.#tree
      for (const part of name.split('.')) {
        const inside = tree.get(part) ?? new Map()
        tree.set(part, inside)
        tree = inside
      }
    }
    if (!this.#own.has(TOKENS) || theirs.some((name) => this.find(name)?.name === TOKENS)) return
    const prefixes = new Set(
      theirs.flatMap((name) => EMBEDDING.exec(unwrapped(name))?.[1].slice(0, -1) ?? []),
    )
    if (prefixes.size > 0) this.#prefix = modelAmong(what, [...prefixes]).split('.')
  }

  /**
   * @returns null for a tensor to be ignored, undefined for one that is unknown
   */
  find(theirs: string): Found | null | undefined {
    const parts = theirs.split('.')
    if (this.#own.has(theirs)) return findIn(this.#tree, parts, [])
    if (parts.length > 64) return undefined // a hostile name may have millions
    // The head has a part of the prefix only: transformer.wte.weight, lm_head.weight.
    for (let prefix = this.#prefix; ; prefix = prefix.slice(0, -1)) {
      const rest = below(parts, prefix)
      const found = rest ? findIn(this.#tree, rest, []) : undefined
      if (found !== undefined || prefix.length === 0) return found
    }
  }
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
function findIn(tree: Tree, theirs: readonly string[], path: readonly string[]): Found | null | undefined {
  const [first, ...rest] = theirs
  if (first === undefined) return tree.size === 0 ? { name: path.join('.') } : undefined
  const own = tree.get(first)
  const found = own && findIn(own, rest, [...path, first])
  if (found !== undefined) return found
  for (const { theirs, ours, beside, ...how } of ROWS) {
    if (theirs !== first || (beside !== undefined && !tree.has(beside))) continue
    if (ours === null) {
      if (rest.length === 0) return null
      continue
    }
    const parts = ours.split('.')
    const inside = parts.reduce<Tree | undefined>((tree, part) => tree?.get(part), tree)
    const found = inside && findIn(inside, rest, [...path, ...parts])
    if (found !== undefined) return found && { ...found, ...how }
  }
  return WRAPPER.test(first) ? findIn(tree, rest, path) : undefined
}

/** A tensor of a file or of a dict. */
export interface Info {
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
export interface Place {
  /** our name */
  name: string
  target: Tensor
  info: Info
  /** its scales, where it is an int8 weight */
  scale: Info | null
  /** whether the file has the matrix transposed */
  transposed: boolean
  /** which third of our outputs it is; null for all */
  third: 0 | 1 | 2 | null
}

/** A tensor of the file, and how it was found. */
type Source = Omit<Found, 'name'> & { info: Info }

/**
 * Where the values of each tensor of a layer are. A tensor with two names may have two places.
 *
 * @param own the layer's state dict
 * @param matrices the layer's
 * @param what the name of the argument that is the file, for errors
 * @param infos the tensors of the file
 * @param strict whether a missing and an unknown tensor are errors
 * @returns also our names that the file lacks, and the file's that we do not know
 * @throws {GptLayersError} VALUE for a name that is missing, unknown or there twice; UNSUPPORTED for integers
 *   without scales
 */
export function placesOf(
  own: Record<string, Tensor>,
  matrices: Matrices,
  what: string,
  infos: readonly Info[],
  strict: boolean,
): { places: Place[]; missing: string[]; unknown: string[] } {
  const theirs = infos.map(({ name }) => name)
  const names = new Names(what, Object.keys(own), theirs)
  /** By our name; a third by our name and its number, scales by our name and SCALE. */
  const found: Map<string, Source> = new Map()
  const unknown: string[] = []
  for (const info of infos) {
    const source = names.find(info.name)
    if (source === null) continue
    if (source) dropBatch(source, info)
    const weight = info.name.endsWith(SCALE) ? names.find(info.name.slice(0, -SCALE.length))?.name : undefined
    let key = weight + SCALE
    if (source) key = source.name + (source.third ?? '')
    else if (weight === undefined || !matrices.has(own[weight])) {
      unknown.push(info.name)
      continue
    }
    const parts = source?.third === undefined ? [0, 1, 2].map((third) => key + third) : [source.name]
    const other = [key, ...parts].flatMap((one) => found.get(one) ?? [])[0]
    if (other) {
      throw fail(
        'VALUE',
        what,
        `have ${key} once`,
        `${shortName(other.info.name)} and ${shortName(info.name)}`,
      )
    }
    found.set(key, { ...source, info })
  }

  const order = orderOf(found, own)
  function place(name: string, from: string, third: Place['third'] = null): Place[] {
    const source = found.get(from + (third ?? ''))
    const scale = found.get(from + SCALE)?.info ?? null
    if (source) {
      if (scale === null) checkFloats(source.info, own[name])
      const matrix = matrices.get(own[name])
      const transposed = matrix !== undefined && isTransposed(name, source, order, matrix.transposed, scale)
      return [{ name, target: own[name], info: source.info, scale, transposed, third }]
    }
    if (scale === null || Object.hasOwn(own, from + SCALE)) return []
    throw fail('VALUE', what, `have ${from}, int8`, `only ${shortName(scale.name)}`)
  }
  const seen: Set<Tensor> = new Set()
  const missing: string[] = []
  const absent: string[] = []
  const places = Object.entries(own).flatMap(([name, target]) => {
    let all = place(name, name)
    if (all.length === 0) {
      all = ([0, 1, 2] as const).flatMap((third) => place(name, name, third))
      if (all.length % 3 !== 0) missing.push(name)
    }
    // GPT-2's file has no head: the head shares the token embedding's weight.
    if (all.length === 0 && name === HEAD && !seen.has(target)) all = place(name, TOKENS)
    if (all.length > 0) seen.add(target)
    else absent.push(name)
    return all
  })
  missing.push(...absent.filter((name) => !seen.has(own[name]))) // a tied weight may come under either name
  if (strict && missing.length > 0) throw lacks(what, missing, unknown.length > 0 ? unknown : theirs)
  if (strict && unknown.length > 0) {
    throw fail('VALUE', what, 'have no other tensors, or come with strict: false', listed(unknown))
  }
  return { places, missing, unknown }
}

/** Drops the first axis of minGPT's positions, [1, contextLength, embDim]. */
export function dropBatch(found: Found, info: Info): void {
  const [batch, ...shape] = info.shape
  if (found.name === 'pos_emb.weight' && shape.length === 2 && batch === 1) info.shape = shape
}

/**
 * A weight of integers needs scales, or it would be 100 times too large. A buffer may have exact integers.
 */
function checkFloats({ name, dtype }: Info, { isParameter }: Tensor): void {
  if (dtype.includes('F') || (dtype !== 'I8' && !isParameter)) return
  const short = shortName(name)
  const expected = `have floats, or be a weight with scales in ${short}${SCALE}`
  throw fail('UNSUPPORTED', short, expected, dtype)
}

/** @param others the names that came instead */
export const lacks = (what: string, missing: readonly string[], others: readonly string[]) =>
  fail('VALUE', what, `have ${listed(missing)}`, listed(others))

/** How a file has its weights. */
interface Order {
  /** whether they are [out, in], as nn.Linear has them */
  isLinear: boolean
  /** whether c_attn is transposed, although it has our own name */
  isOther: boolean
}

function orderOf(found: ReadonlyMap<string, Source>, own: Record<string, Tensor>): Order {
  for (const end of ['c_attn.weight', 'layers.0.weight']) {
    for (const [name, { info, weight }] of found) {
      if (!name.endsWith(end) || found.has(name + SCALE)) continue
      const [rows, cols] = info.shape
      const [ownRows, ownCols] = own[name].shape
      if (end === 'c_attn.weight') {
        return { isLinear: rows === 3 * cols, isOther: rows === ownCols && cols === ownRows && rows !== cols }
      }
      if (weight === 'c_attn') return { isLinear: rows === ownRows && rows !== cols, isOther: false }
    }
  }
  return { isLinear: false, isOther: false }
}

/** @param isConv1D whether our matrix is [in, out] */
function isTransposed(
  name: string,
  source: Source,
  order: Order,
  isConv1D: boolean,
  scale: Info | null,
): boolean {
  if (scale !== null || source.weight === '[out, in]') return isConv1D
  if (source.weight === 'c_attn') return order.isLinear === isConv1D
  return order.isOther && /(^|\.)c_(attn|proj)\.weight$/.test(name)
}

/** At most 12 names, for an error message. */
export function listed(names: readonly string[]): string {
  const more = names.length > 12 ? ` and ${names.length - 12} more` : ''
  return names.slice(0, 12).map(shortName).join(', ') + more || 'none'
}
