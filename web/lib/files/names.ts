// The names of tensors in the files that people have, and which of our tensors gets their values.

import type { Matrices } from '../tensor/int8weight.ts'
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
interface Row {
  theirs: string
  ours: string | null
  beside?: string
  weight?: '[out, in]' | 'c_attn'
  part?: Part
}

/**
 * A name that is in our state dict comes first, then the first row that leads to one. `saveSafetensors` with
 * `names: 'gpt2'` or `'book'` writes the first of theirs for ours.
 */
const ROWS: Readonly<Record<'gpt2' | 'book' | 'others', readonly Row[]>> = {
  // OpenAI's and Hugging Face's files have weights [in, out], nanoGPT's and minGPT's [out, in].
  gpt2: [
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
    { theirs: 'weight', ours: 'scale' }, // PyTorch's norms
    { theirs: 'bias', ours: 'shift' },
    { theirs: 'num_batches_tracked', ours: null, beside: 'running_mean' },
  ],
  book: [
    { theirs: 'att', ours: 'attn' },
    { theirs: 'W_query', ours: 'c_attn', weight: '[out, in]', part: 0 },
    { theirs: 'W_key', ours: 'c_attn', weight: '[out, in]', part: 1 },
    { theirs: 'W_value', ours: 'c_attn', weight: '[out, in]', part: 2 },
    { theirs: 'qkv', ours: 'c_attn', weight: '[out, in]' },
    { theirs: 'out_proj', ours: 'c_proj', weight: '[out, in]' },
    { theirs: 'proj', ours: 'c_proj', weight: '[out, in]' },
    { theirs: 'mask', ours: null, beside: 'c_attn' },
  ],
  // minGPT before 2022
  others: [
    { theirs: 'pos_emb', ours: 'pos_emb.weight' },
    { theirs: 'blocks', ours: 'trf_blocks', weight: '[out, in]' },
    { theirs: 'ln1', ours: 'norm1' },
    { theirs: 'ln2', ours: 'norm2' },
    { theirs: 'query', ours: 'c_attn', part: 0, beside: 'c_attn' },
    { theirs: 'key', ours: 'c_attn', part: 1, beside: 'c_attn' },
    { theirs: 'value', ours: 'c_attn', part: 2, beside: 'c_attn' },
    { theirs: 'mlp', ours: 'ff.layers' },
    { theirs: 'head', ours: 'out_head' },
  ],
}

export const TOKENS = 'tok_emb.weight'
export const HEAD = 'out_head.weight'

const BLOCK = [
  'norm1.scale',
  'norm1.shift',
  'attn.c_attn.weight',
  'attn.c_attn.bias',
  'attn.c_proj.weight',
  'attn.c_proj.bias',
  'norm2.scale',
  'norm2.shift',
  'ff.layers.0.weight',
  'ff.layers.0.bias',
  'ff.layers.2.weight',
  'ff.layers.2.bias',
]

/** The names of a GPTModel's tensors in its state dict. Biases and the head may be missing there. */
export const gptNames = (nLayers: number): string[] => [
  TOKENS,
  'pos_emb.weight',
  'final_norm.scale',
  'final_norm.shift',
  HEAD,
  ...Array.from({ length: nLayers }, (_, i) => BLOCK.map((name) => `trf_blocks.${i}.${name}`)).flat(),
]

/**
 * The names under which others have a tensor of ours.
 *
 * @param ours one of `gptNames`
 * @returns one name, or those of query, key and value
 */
export function theirNames(ours: string, others: 'gpt2' | 'book'): string[] {
  const renamed = [0, 1, 2].map((part) =>
    ROWS[others]
      .filter((row) => (row.part ?? part) === part)
      .reduce((name, { ours, theirs }) => `.${name}.`.replace(`.${ours}.`, `.${theirs}.`).slice(1, -1), ours),
  )
  const prefix = others === 'gpt2' && ours !== HEAD ? 'transformer.' : ''
  return [...new Set(renamed)].map((name) => prefix + name)
}

/** What torch.compile, FSDP, activation checkpoints, DataParallel and LoRA put into the names of what they wrap. */
const WRAPPER = /^(_orig_mod|_(fsdp|checkpoint)_wrapped_module|module|base_layer)$/

const withoutWrappers = (name: string): string =>
  name
    .split('.')
    .filter((part) => !WRAPPER.test(part))
    .join('.')

/**
 * An embedding in a file. What stands before its name, such as `transformer.`, stands before all names there. A
 * tied file may lack wte.
 */
const EMBEDDING = /^((?:[^.]+\.){0,20})(?:wte|wpe|tok_emb)\.weight$/

/** Whether this name in a file is that of a GPT's embedding. */
export const isEmbedding = (theirs: string): boolean => EMBEDDING.test(withoutWrappers(theirs))

/** The number of blocks of a GPT that has these names in a file. */
export const countBlocks = (theirs: readonly string[]): number =>
  new Set(
    theirs.flatMap(
      (name) => /(?:^|\.)(?:h|trf_blocks|blocks)\.(\d+)\./.exec(withoutWrappers(name))?.[1] ?? [],
    ),
  ).size

/** Whether these are the names of minGPT before 2022. */
export const isOldMinGPT = (theirs: readonly string[]): boolean =>
  theirs.some((name) => /(^|\.)blocks\.0\.attn\.key\.weight$/.test(withoutWrappers(name)))

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
  const [first, ...others] = paths.length === 1 ? paths : named
  if (first !== undefined && others.length === 0) return first
  throw fail('VALUE', what, 'have one GPT, or one named model, module or state_dict', listed(paths))
}

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
 * one that is unknown.
 *
 * @param what the argument that is the file, for errors
 * @param own our names
 * @param theirs all names in the file
 * @throws {GptLayersError} VALUE for several GPTs, unless one is named as the model
 */
export function finderOf(
  what: string,
  own: readonly string[],
  theirs: readonly string[],
): (name: string) => Found | null | undefined {
  const isOwn = new Set(own)
  const tree: Tree = new Map()
  for (const name of own) {
    let inside = tree
    for (const part of name.split('.')) {
      const next = inside.get(part) ?? new Map()
      inside.set(part, next)
      inside = next
    }
  }
  /** What stands before all names in the file, without the parts of wrappers. */
  let prefix: readonly string[] = []
  function find(name: string): Found | null | undefined {
    const parts = name.split('.')
    if (isOwn.has(name)) return { name }
    if (parts.length > 64) return undefined // a hostile name may have millions
    // The head has the first parts of the prefix only: transformer.wte.weight, lm_head.weight.
    for (let length = prefix.length; length >= 0; length--) {
      const rest = below(parts, prefix.slice(0, length))
      const found = rest ? findIn(tree, rest, []) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }
  if (isOwn.has(TOKENS) && !theirs.some((name) => find(name)?.name === TOKENS)) {
    const prefixes = new Set(
      theirs.flatMap((name) => EMBEDDING.exec(withoutWrappers(name))?.[1].slice(0, -1) ?? []),
    )
    if (prefixes.size > 0) prefix = modelAmong(what, [...prefixes]).split('.')
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
function findIn(tree: Tree, theirs: readonly string[], path: readonly string[]): Found | null | undefined {
  const [first, ...rest] = theirs
  if (first === undefined) return tree.size === 0 ? { name: path.join('.') } : undefined
  const own = tree.get(first)
  const found = own && findIn(own, rest, [...path, first])
  if (found !== undefined) return found
  for (const { theirs, ours, beside, ...how } of Object.values(ROWS).flat()) {
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

/** A tensor of the file, and how it was found. */
type Source = Omit<Found, 'name'> & { info: TensorInfo }

/**
 * Finds the values of each tensor of a layer. A tensor with two names may have two matches.
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
export function matchNames(
  own: Record<string, Tensor>,
  matrices: Matrices,
  what: string,
  infos: readonly TensorInfo[],
  strict: boolean,
): { matches: Match[]; missing: string[]; unknown: string[] } {
  const theirs = infos.map(({ name }) => name)
  const find = finderOf(what, Object.keys(own), theirs)
  /** By our name; a part by our name and its number, scales by our name and SCALE. */
  const sources: Map<string, Source> = new Map()
  const unknown: string[] = []
  for (const info of infos) {
    const found = find(info.name)
    if (found === null) continue
    if (found) dropBatch(found, info)
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
      throw fail('VALUE', what, `have ${key} once`, names)
    }
    sources.set(key, { ...found, info })
  }

  const [isLinear, isOther] = orderOf(sources, own)
  function isTransposed(name: string, weight: Source['weight'], isInt8: boolean): boolean {
    const matrix = matrices.get(own[name])
    if (!matrix) return false
    if (isInt8 || weight === '[out, in]') return matrix.transposed
    if (weight === 'c_attn') return isLinear === matrix.transposed
    return isOther && /(^|\.)c_(attn|proj)\.weight$/.test(name)
  }
  function match(name: string, from: string, part: Part | null = null): Match[] {
    const source = sources.get(from + (part ?? ''))
    const scale = sources.get(from + SCALE)?.info ?? null
    if (source) {
      const { info, weight } = source
      if (!scale) checkFloats(info, own[name])
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
    if (all.length === 0 && name === HEAD && !matched.has(target)) all = match(name, TOKENS)
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

/** Drops the first axis of minGPT's positions, [1, contextLength, embDim]. */
export function dropBatch({ name }: Found, info: TensorInfo): void {
  const [batch, ...shape] = info.shape
  if (name === 'pos_emb.weight' && shape.length === 2 && batch === 1) info.shape = shape
}

/** A weight of integers needs scales, or it would be 100 times too large. A buffer may have exact integers. */
function checkFloats({ name, dtype }: TensorInfo, { isParameter }: Tensor): void {
  if (dtype.includes('F') || (dtype !== 'I8' && !isParameter)) return
  const short = shortName(name)
  const expected = `have floats, or be a weight with scales in ${short}${SCALE}`
  throw fail('UNSUPPORTED', short, expected, dtype)
}

/** @param others the names that came instead */
export const lacks = (what: string, missing: readonly string[], others: readonly string[]) =>
  fail('VALUE', what, `have ${listed(missing)}`, listed(others))

/**
 * How a file has its matrices: as the shape of c_attn tells, or that of the first feed-forward layer.
 *
 * @returns whether they are [out, in], as nn.Linear has them, and whether c_attn is not as ours
 */
function orderOf(
  sources: ReadonlyMap<string, Source>,
  own: Record<string, Tensor>,
): [isLinear: boolean, isOther: boolean] {
  const find = (end: string, isRight = (_: Source) => true) =>
    [...sources].find(([name, source]) => name.endsWith(end) && !sources.has(name + SCALE) && isRight(source))
  const attention = find('c_attn.weight')
  const [name, source] = attention ?? find('layers.0.weight', ({ weight }) => weight === 'c_attn') ?? []
  if (name === undefined || !source) return [false, false]
  const [rows, cols] = source.info.shape
  const [ownRows, ownCols] = own[name].shape
  if (!attention) return [rows === ownRows && rows !== cols, false]
  return [rows === 3 * cols, rows === ownCols && cols === ownRows && rows !== cols]
}

/** At most 12 names, for an error message. */
export function listed(names: readonly string[]): string {
  const more = names.length > 12 ? ` and ${names.length - 12} more` : ''
  return names.slice(0, 12).map(shortName).join(', ') + more || 'none'
}
