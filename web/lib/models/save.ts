// Writes tensors as a file: a GPT also under the names, and in the layout, of others.

import type { Tensor } from '../tensor/tensor.ts'
import { checkArray, checkObject, checkOptions, named, oneOf } from '../check.ts'
import { type FloatDtype, type Written, encode, entriesOf, floatEntry } from '../files/safetensors.ts'
import { fail } from '../errors.ts'
import { GELU } from '../layers/activations.ts'
import { LayerNorm } from '../layers/norms.ts'
import { firstNames, Module, namedModules } from '../layers/module.ts'
import { gptNames, HEAD, theirNames, TOKENS } from '../files/gptnames.ts'
import { matricesOf } from '../files/matrix.ts'
import { listed } from '../files/names.ts'
import type { Bytes } from '../typed.ts'
import { GPTModel } from './gptmodel.ts'

/**
 * Writes a layer, or tensors by name, as a safetensors file.
 *
 * | names | a GPTModel is written as | opens in |
 * | --- | --- | --- |
 * | `'gpt2'` | transformers' GPT2LMHeadModel, with the values of its config.json in the metadata | transformers, nanoGPT's from_pretrained, here |
 * | `'book'` | the book's GPTModel, masks included | `model.load_state_dict(safetensors.torch.load_file(path))`, here |
 * | `'ours'` | its own state dict | here |
 *
 * @param dictOrModule tensors by name, such as `model.stateDict()`, or a layer. A layer's tensor with two
 *   names is written once, under the first; an int8 weight is I8, with its scales
 * @param options names: by default 'gpt2' for a GPTModel without int8 weights, otherwise 'ours'. dtype:
 *   'float32', or 'float16' for half of the bytes; int8 weights stay int8
 * @returns the bytes of the file
 * @throws {GptLayersError} VALUE for what the format reserves, for a model that has other tensors than
 *   those names, and for numbers beyond float16; UNSUPPORTED for int8 weights under others' names
 * @example gpt.saveSafetensors({ x: gpt.ones([2]) }).length // 104
 * @example writeFileSync('model.safetensors', gpt.saveSafetensors(model, { names: 'book' }))
 */
export const saveSafetensors = /* @__PURE__ */ named(
  'saveSafetensors',
  (
    dictOrModule: Record<string, Tensor> | Module,
    options?: { names?: 'gpt2' | 'book' | 'ours'; dtype?: 'float32' | 'float16' },
  ): Bytes => {
    const defaults: typeof options = { names: undefined, dtype: 'float32' }
    const checks = { names: oneOf('gpt2', 'book', 'ours'), dtype: oneOf('float32', 'float16') }
    const { names, dtype = 'float32' } = checkOptions(options, defaults, checks)
    const isGPT = dictOrModule instanceof GPTModel
    if (isGPT && (names ?? (isInt8(dictOrModule) ? 'ours' : 'gpt2')) !== 'ours')
      return encodeFor(names === 'book' ? 'book' : 'gpt2', dictOrModule, dtype)
    if (names === 'gpt2' || names === 'book') {
      const got = dictOrModule instanceof Module ? 'a layer that is no GPTModel' : 'tensors by name'
      throw fail('VALUE', 'names', `be 'ours' for ${got}`, `'${names}'`)
    }
    const dict =
      dictOrModule instanceof Module
        ? Object.fromEntries(firstNames(Object.entries(dictOrModule.stateDict())))
        : checkObject('dictOrModule', dictOrModule)
    return encode(entriesOf(dict, dtype), isGPT ? statedBy(dictOrModule) : {})
  },
)

const isInt8 = (model: GPTModel) => Object.values(model.stateDict()).some((tensor) => tensor.int8Weight)

/** What the header of a GPT's file says beside its tensors. */
function statedBy(model: GPTModel): Record<string, string> {
  const hyperparameters = hyperparametersOf(model)
  if (hyperparameters !== null) return metadataOf(hyperparameters)
  const nHeads = model.trfBlocks[0]?.attn?.nHeads
  return Number.isInteger(nHeads) ? { n_head: String(nHeads) } : {}
}

/** @returns null where blocks differ, or layers were replaced by others than GPT-2's */
function hyperparametersOf({ trfBlocks, finalNorm }: GPTModel): Hyperparameters | null {
  checkArray('trfBlocks', trfBlocks, 'an array of layers')
  const all = trfBlocks.flatMap(({ attn, ff, norm1, norm2 }) => {
    const gelu = ff?.layers?.[1]
    const approximate = gelu instanceof GELU ? gelu.approximate : null
    return [norm1, norm2, finalNorm].map((norm) => {
      return { nHeads: attn?.nHeads, eps: norm instanceof LayerNorm ? norm.eps : null, approximate }
    })
  })
  if (all.length === 0) return null
  const [{ nHeads, eps, approximate }] = all
  const isSame = all.every(
    (one) => one.nHeads === nHeads && one.eps === eps && one.approximate === approximate,
  )
  return isSame && eps !== null && approximate !== null ? { nHeads, eps, approximate } : null
}

/** What no shape tells. */
interface Hyperparameters {
  nHeads: number
  eps: number
  approximate: 'tanh' | 'none'
}

/** A GPT as others have it. */
function encodeFor(names: 'gpt2' | 'book', model: GPTModel, dtype: FloatDtype): Bytes {
  const isBook = names === 'book'
  const hyperparameters = hyperparametersOf(model)
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
const metadataOf = ({ nHeads, eps, approximate }: Hyperparameters): Record<string, string> => ({
  n_head: String(nHeads),
  layer_norm_epsilon: String(eps),
  activation_function: approximate === 'none' ? 'gelu' : 'gelu_new',
})

/** The tensors of a GPT as others have them. A bias that the model lacks is zeros, a norm's scale is ones. */
function entriesFor(model: GPTModel, names: 'gpt2' | 'book', dtype: FloatDtype): Written[] {
  const own = model.stateDict()
  const all = gptNames(model.trfBlocks.length)
  const others = Object.keys(own).filter((name) => !all.includes(name))
  if (others.length > 0)
    throw fail('VALUE', 'names', "be 'ours' for this model", `'${names}', which has no ${listed(others)}`)
  if (isInt8(model)) throw fail('UNSUPPORTED', 'names', "be 'ours' for int8 weights", `'${names}'`)
  const matrices = matricesOf(namedModules(model))
  const isTied = own[HEAD] === own[TOKENS]
  return all.flatMap((name) => {
    if (names === 'gpt2' && name === HEAD && isTied) return []
    const theirs = theirNames(name, names)
    if (!Object.hasOwn(own, name)) {
      if (theirs.length > 1) return [] // the book's qkv_bias: false
      const weight = own[name.replace(/bias$/, 'weight')]
      const outputs = weight?.shape[matrices.get(weight)?.transposed ? 1 : 0] ?? model.embDim
      const values = new Float32Array(outputs).fill(name.endsWith('scale') ? 1 : 0)
      return [floatEntry(theirs[0], [outputs], dtype, () => values)]
    }
    const tensor = own[name]
    const matrix = name.startsWith('trf_blocks.') ? matrices.get(tensor) : undefined
    const isTransposed = matrix !== undefined && matrix.transposed !== (names === 'gpt2')
    const [rows, ...cols] = isTransposed ? [...tensor.shape].reverse() : tensor.shape
    const values = () => (isTransposed ? transpose(tensor.data, cols[0]) : tensor.data)
    const size = tensor.size / theirs.length
    return theirs.map((other, i) =>
      floatEntry(other, [rows / theirs.length, ...cols], dtype, () =>
        values().subarray(i * size, (i + 1) * size),
      ),
    )
  })
}

function transpose(values: Float32Array, rows: number): Float32Array {
  const cols = values.length / rows
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
