// Writes a GPT under the names, and in the layout, of others.

import type { GPTModel } from '../layers/gptmodel.ts'
import { fail } from '../errors.ts'
import { MATRICES } from '../tensor/int8weight.ts'
import { listed } from './names.ts'
import { type FloatDtype, type Written, encode, floatEntry } from './safetensors.ts'

/** What a GPT is written as: theirs of our names. W_* stands for W_query, W_key and W_value. */
interface Layout {
  outside: Readonly<Record<string, string>>
  /** what stands before the number of a block */
  blocks: string
  inside: Readonly<Record<string, string>>
  /** whether the matrices in blocks are [in, out] */
  isConv1D: boolean
}

/** transformers' GPT2LMHeadModel. Without lm_head the head is tied. */
const GPT2: Layout = {
  outside: {
    'tok_emb.weight': 'transformer.wte.weight',
    'pos_emb.weight': 'transformer.wpe.weight',
    'final_norm.scale': 'transformer.ln_f.weight',
    'final_norm.shift': 'transformer.ln_f.bias',
    'out_head.weight': 'lm_head.weight',
  },
  blocks: 'transformer.h.',
  inside: {
    'norm1.scale': 'ln_1.weight',
    'norm1.shift': 'ln_1.bias',
    'attn.c_attn.weight': 'attn.c_attn.weight',
    'attn.c_attn.bias': 'attn.c_attn.bias',
    'attn.c_proj.weight': 'attn.c_proj.weight',
    'attn.c_proj.bias': 'attn.c_proj.bias',
    'norm2.scale': 'ln_2.weight',
    'norm2.shift': 'ln_2.bias',
    'ff.layers.0.weight': 'mlp.c_fc.weight',
    'ff.layers.0.bias': 'mlp.c_fc.bias',
    'ff.layers.2.weight': 'mlp.c_proj.weight',
    'ff.layers.2.bias': 'mlp.c_proj.bias',
  },
  isConv1D: true,
}

/** The book's GPTModel. Its head is a weight of its own. */
const BOOK: Layout = {
  outside: {
    'tok_emb.weight': 'tok_emb.weight',
    'pos_emb.weight': 'pos_emb.weight',
    'final_norm.scale': 'final_norm.scale',
    'final_norm.shift': 'final_norm.shift',
    'out_head.weight': 'out_head.weight',
  },
  blocks: 'trf_blocks.',
  inside: {
    'norm1.scale': 'norm1.scale',
    'norm1.shift': 'norm1.shift',
    'attn.c_attn.weight': 'att.W_*.weight',
    'attn.c_attn.bias': 'att.W_*.bias',
    'attn.c_proj.weight': 'att.out_proj.weight',
    'attn.c_proj.bias': 'att.out_proj.bias',
    'norm2.scale': 'norm2.scale',
    'norm2.shift': 'norm2.shift',
    'ff.layers.0.weight': 'ff.layers.0.weight',
    'ff.layers.0.bias': 'ff.layers.0.bias',
    'ff.layers.2.weight': 'ff.layers.2.weight',
    'ff.layers.2.bias': 'ff.layers.2.bias',
  },
  isConv1D: false,
}

/** What no shape tells, of all blocks; null where the blocks differ, or layers were replaced. */
export interface Hyperparameters {
  nHeads: number
  eps: number
  approximate: 'tanh' | 'none'
}

/**
 * A GPT as others have it.
 *
 * @throws {GptLayersError} VALUE for a model that theirs cannot be; UNSUPPORTED for int8 weights
 */
export function encodeFor(
  names: 'gpt2' | 'book',
  model: GPTModel,
  hyperparameters: Hyperparameters | null,
  dtype: FloatDtype,
): Uint8Array {
  const isBook = names === 'book'
  if (hyperparameters === null)
    throw fail('VALUE', 'names', "be 'ours' for a model with other layers than GPT-2's", `'${names}'`)
  if (isBook && (hyperparameters.eps !== 1e-5 || hyperparameters.approximate !== 'tanh')) {
    throw fail(
      'VALUE',
      'names',
      "not be 'book' for a model with another eps than 1e-5, or GELU's erf form",
      "'book'",
    )
  }
  const entries = entriesFor(model, names, dtype)
  return encode(isBook ? [...entries, ...masks(model)] : entries, {
    ...configFor(model),
    ...metadataOf(hyperparameters),
  })
}

/** The names of transformers' config.json. */
export const metadataOf = ({ nHeads, eps, approximate }: Hyperparameters): Record<string, string> => ({
  n_head: String(nHeads),
  layer_norm_epsilon: String(eps),
  activation_function: approximate === 'none' ? 'gelu' : 'gelu_new',
})

/**
 * The tensors of a GPT as others have them. A bias that the model lacks and theirs has is zeros.
 *
 * @throws {GptLayersError} VALUE for a model with other tensors than GPT-2's; UNSUPPORTED for int8 weights
 */
function entriesFor(model: GPTModel, names: 'gpt2' | 'book', dtype: FloatDtype): Written[] {
  const own = model.stateDict()
  const matrices = model[MATRICES]()
  const { outside, blocks, inside, isConv1D } = names === 'gpt2' ? GPT2 : BOOK
  const theirs = new Map(Object.entries(outside))
  for (const i of model.trfBlocks.keys()) {
    for (const [name, other] of Object.entries(inside))
      theirs.set(`trf_blocks.${i}.${name}`, `${blocks}${i}.${other}`)
  }
  const others = Object.keys(own).filter((name) => !theirs.has(name))
  if (others.length > 0)
    throw fail('VALUE', 'names', "be 'ours' for this model", `'${names}', which has no ${listed(others)}`)
  const int8 = Object.keys(own).find((name) => own[name].int8Weight)
  if (int8) throw fail('UNSUPPORTED', 'names', "be 'ours' for int8 weights", `'${names}'`)
  if (names === 'gpt2' && own['out_head.weight'] === own['tok_emb.weight']) theirs.delete('out_head.weight')
  return [...theirs].flatMap(([name, other]) => {
    const tensor = Object.hasOwn(own, name) ? own[name] : null
    const weight = own[name.replace(/bias$/, 'weight').replace(/shift$/, 'scale')]
    const matrix = matrices.get(weight)
    const [rows, cols = 1] = tensor?.shape ?? [matrix?.transposed ? weight.shape[1] : weight.shape[0]]
    const isTurned = cols > 1 && name.startsWith('trf_blocks.') && matrix?.transposed !== isConv1D
    const shape = isTurned ? [cols, rows] : (tensor?.shape ?? [rows])
    const values = () => {
      if (tensor === null) return new Float32Array(rows)
      return isTurned ? turned(tensor.data, rows, cols) : tensor.data
    }
    if (!other.includes('W_*')) return [floatEntry(other, shape, dtype, values)]
    if (tensor === null) return [] // qkv_bias: false
    const third = shape[0] / 3
    return ['W_query', 'W_key', 'W_value'].map((part, i) => {
      const size = tensor.size / 3
      const ofThird = () => values().subarray(i * size, (i + 1) * size)
      return floatEntry(other.replace('W_*', part), [third, ...shape.slice(1)], dtype, ofThird)
    })
  })
}

/** The transpose of a matrix. */
function turned(values: Float32Array, rows: number, cols: number): Float32Array {
  const result = new Float32Array(values.length)
  for (let c = 0; c < cols; c++) for (let r = 0; r < rows; r++) result[c * rows + r] = values[r * cols + c]
  return result
}

/** The book's mask, a buffer of each block: 1 where a token may not look. */
const masks = ({ trfBlocks, contextLength }: GPTModel): Written[] =>
  [...trfBlocks.keys()].map((i) => ({
    name: `trf_blocks.${i}.att.mask`,
    dtype: 'BOOL',
    shape: [contextLength, contextLength],
    write: (target) => {
      for (let row = 0; row < contextLength; row++)
        target.fill(1, row * contextLength + row + 1, (row + 1) * contextLength)
    },
  }))

/** The values of transformers' config.json, for the metadata. */
function configFor(model: GPTModel): Record<string, string> {
  const { vocabSize, contextLength, embDim, trfBlocks } = model
  const config = {
    model_type: 'gpt2',
    vocab_size: vocabSize,
    n_positions: contextLength,
    n_embd: embDim,
    n_layer: trfBlocks.length,
    n_inner: trfBlocks[0].ff.hiddenDim,
    tie_word_embeddings: model.tokEmb.weight === model.outHead.weight,
  }
  return Object.fromEntries(Object.entries(config).map(([name, value]) => [name, String(value)]))
}
