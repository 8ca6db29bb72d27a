// The names of a GPT's tensors in the files that people have, and how those have its matrices.

import type { Matrices } from './matrix.ts'
import type { Tensor } from '../tensor/tensor.ts'
import { shortName } from '../check.ts'
import { fail } from '../errors.ts'
import { isFloat } from './dtypes.ts'
import { type Row, type FileTensor, type TensorInfo, listed, NORMS, SCALE, withoutWrappers } from './names.ts'

/** `saveSafetensors` with `names: 'gpt2'` or `'book'` writes the first of theirs for ours. */
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

const allRows = (): Row[] => Object.values(ROWS).flat()

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

/** The names under which others have a tensor of ours: one, or those of query, key and value. */
export function theirNames(ours: string, others: 'gpt2' | 'book'): string[] {
  const rows = others === 'gpt2' ? [...ROWS.gpt2, ...NORMS] : ROWS.book
  const renamed = [0, 1, 2].map((part) =>
    rows
      .filter((row) => (row.part ?? part) === part)
      .reduce((name, { ours, theirs }) => `.${name}.`.replace(`.${ours}.`, `.${theirs}.`).slice(1, -1), ours),
  )
  const prefix = others === 'gpt2' && ours !== HEAD ? 'transformer.' : ''
  return [...new Set(renamed)].map((name) => prefix + name)
}

/**
 * The name of an embedding in a file. What stands before `wte`, such as `transformer.`, stands before all names of
 * the GPT. A file with tied weights may lack wte, so wpe counts, too.
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

/** Whether these are minGPT's names from before 2022. */
export const isOldMinGPT = (theirs: readonly string[]): boolean =>
  theirs.some((name) => /(^|\.)blocks\.0\.attn\.key\.weight$/.test(withoutWrappers(name)))

/** The words for a model in a file that has more beside it, such as an average of its weights. */
const MODELS = ['model', 'model_state_dict', 'module', 'state_dict', 'transformer']

/**
 * Chooses one of several GPTs in a file.
 *
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

/** What all names of a GPT in a file begin with, in parts: such as `transformer`. */
function prefixIn(what: string, theirs: readonly string[]): string[] {
  const prefixes = new Set(
    theirs.flatMap((name) => EMBEDDING.exec(withoutWrappers(name))?.[1].slice(0, -1) ?? []),
  )
  return prefixes.size > 0 ? modelAmong(what, [...prefixes]).split('.') : []
}

/** Drops the first axis of minGPT's positions, [1, contextLength, embDim]. */
export function dropBatch(name: string, info: TensorInfo): void {
  const [batch, ...shape] = info.shape
  if (name === 'pos_emb.weight' && shape.length === 2 && batch === 1) info.shape = shape
}

/** Refuses a weight of integers without scales: it would be about 100 times too large. Buffers may be integers. */
function checkFloats({ name, dtype }: TensorInfo, { isParameter }: Tensor): void {
  if (isFloat(dtype) || (dtype !== 'I8' && !isParameter)) return
  const short = shortName(name)
  const expected = `have floats, or be a weight with scales in ${short}${SCALE}`
  throw fail('UNSUPPORTED', short, expected, dtype)
}

/**
 * How a file has its matrices: as the shape of c_attn tells, or that of the first feed-forward layer.
 *
 * @param sources by our names
 * @returns whether the file has a matrix transposed
 */
function transposedIn(
  sources: ReadonlyMap<string, FileTensor>,
  own: Record<string, Tensor>,
  matrices: Matrices,
): (name: string, weight: Row['weight'], isInt8: boolean) => boolean {
  const [isLinear, isOther] = orderOf(sources, own)
  return (name, weight, isInt8) => {
    const matrix = matrices.get(own[name])
    if (!matrix) return false
    if (isInt8 || weight === '[out, in]') return matrix.transposed
    if (weight === 'c_attn') return isLinear === matrix.transposed
    return isOther && /(^|\.)c_(attn|proj)\.weight$/.test(name)
  }
}

/** @returns whether the matrices are [out, in], as nn.Linear has them, and whether c_attn is not as ours */
function orderOf(
  sources: ReadonlyMap<string, FileTensor>,
  own: Record<string, Tensor>,
): [isLinear: boolean, isOther: boolean] {
  const find = (end: string, isRight = (_: FileTensor) => true) =>
    [...sources].find(([name, source]) => name.endsWith(end) && !sources.has(name + SCALE) && isRight(source))
  const attention = find('c_attn.weight')
  const [name, source] = attention ?? find('layers.0.weight', ({ weight }) => weight === 'c_attn') ?? []
  if (name === undefined || !source) return [false, false]
  const [rows, cols] = source.info.shape
  const [ownRows, ownCols] = own[name].shape
  if (!attention) return [rows === ownRows && rows !== cols, false]
  return [rows === 3 * cols, rows === ownCols && cols === ownRows && rows !== cols]
}

/** What `matchNames` needs of this file. */
export const GPT = { TOKENS, HEAD, allRows, prefixIn, dropBatch, checkFloats, transposedIn }
