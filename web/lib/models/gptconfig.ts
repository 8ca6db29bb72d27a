// Configurations of GPTs as people have them, and what a file says about its model.

import type { TransformerBlockConfig } from '../layers/transformerblock.ts'
import { checkObject, describe, isPlainObject, shortName } from '../check.ts'
import { fail } from '../errors.ts'
import { countBlocks, dropBatch, GPT, gptNames, HEAD, isOldMinGPT, TOKENS } from '../files/gptnames.ts'
import { type TensorInfo, finderOf, listed } from '../files/names.ts'
import { checkConfig, isConfigName } from '../config.ts'

export interface GPTModelConfig extends TransformerBlockConfig {
  /** the number of different tokens; ids are from 0 to vocabSize - 1 */
  vocabSize: number
  /** the number of transformer blocks */
  nLayers: number
  /**
   * whether tokEmb and outHead share one weight, as in GPT-2; false by default. If true, that weight and
   * posEmb's are drawn once more, from N(0, 0.02) as GPT-2's
   */
  tieWeights?: boolean
}

/** Our names, and what they are called by Hugging Face's config.json, nanoGPT, minGPT and the book. */
const OTHER_NAMES: Readonly<Record<string, keyof GPTModelConfig>> = {
  vocab_size: 'vocabSize',
  n_positions: 'contextLength',
  n_ctx: 'contextLength',
  block_size: 'contextLength',
  context_length: 'contextLength',
  n_embd: 'embDim',
  emb_dim: 'embDim',
  n_head: 'nHeads',
  n_heads: 'nHeads',
  n_layer: 'nLayers',
  n_layers: 'nLayers',
  n_inner: 'hiddenDim',
  drop_rate: 'dropRate',
  qkv_bias: 'qkvBias',
  layer_norm_epsilon: 'layerNormEpsilon',
  activation_function: 'approximate',
  tie_word_embeddings: 'tieWeights',
}

/** The forms of GELU, by the names of transformers. */
const ACTIVATIONS: Readonly<Record<string, 'tanh' | 'none'>> = {
  gelu_new: 'tanh',
  gelu_pytorch_tanh: 'tanh',
  gelu_fast: 'tanh',
  gelu: 'none',
}

/** What we cannot compute: the name in config.json, and its only value. */
const ONLY_VALUES: Readonly<Record<string, unknown>> = {
  scale_attn_weights: true,
  scale_attn_by_inverse_layer_idx: false,
  add_cross_attention: false,
  quantization_config: null,
}

/** A configuration under our names, and what its owner calls them. */
interface Given {
  values: Partial<GPTModelConfig>
  names: Map<string, string>
}

/**
 * Reads a configuration under our names or others'. In one under others' names what is unknown only trains,
 * or writes, and is ignored.
 *
 * @throws {GptLayersError} VALUE for what changes numbers and that we cannot compute, for two values of one
 *   thing, and for unknown names
 */
function readConfig(what: string, config: object): Given {
  const entries = Object.entries(checkObject(what, config))
  const isForeign = entries.some(([name]) => Object.hasOwn(OTHER_NAMES, name) || name === 'model_type')
  const values: Record<string, unknown> = {}
  const names = new Map()
  for (const [name, value] of entries) {
    const full = `${what}.${name}`
    if (Object.hasOwn(ONLY_VALUES, name) && value !== ONLY_VALUES[name])
      throw fail('VALUE', full, `be ${ONLY_VALUES[name]}`, describe(value))
    const ours = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : name
    if (isForeign && ours === name && !isConfigName(name)) continue
    if (value === undefined || (value === null && ours !== name)) continue // n_inner: null is its default
    const own = name === 'activation_function' ? activation(full, value) : value
    if (names.has(ours) && values[ours] !== own) {
      throw fail('VALUE', full, `be ${describe(values[ours])}, as ${names.get(ours)}`, describe(value))
    }
    values[ours] = own
    names.set(ours, full)
  }
  return { values: checkConfig(values), names }
}

function activation(full: string, value: unknown): 'tanh' | 'none' {
  if (typeof value === 'string' && Object.hasOwn(ACTIVATIONS, value)) return ACTIVATIONS[value]
  throw fail('VALUE', full, `be among ${Object.keys(ACTIVATIONS).join(', ')}`, describe(value))
}

/** OpenAI's four GPT-2s, from 124M to XL. Their files do not say how many heads they have. */
const GPT2 = { vocabSize: 50257, contextLength: 1024 }
const GPT2_SIZES = [
  { embDim: 768, nLayers: 12, nHeads: 12 },
  { embDim: 1024, nLayers: 24, nHeads: 16 },
  { embDim: 1280, nLayers: 36, nHeads: 20 },
  { embDim: 1600, nLayers: 48, nHeads: 25 },
]

/**
 * The configuration of the GPT in a file.
 *
 * @param stated what the file says about itself
 * @param wanted what the user adds
 * @param strict false: a head for something else than tokens counts as none
 * @throws {GptLayersError} VALUE for a file of something else, for a config that says otherwise, and where
 *   the number of heads is unknown; SHAPE for a head for something else
 */
export function configOf(
  infos: readonly TensorInfo[],
  stated: Record<string, unknown>,
  wanted: object,
  strict: boolean,
): GPTModelConfig {
  const given = readConfig('config', wanted)
  const theirs = infos.map(({ name }) => name)
  const nLayers = countBlocks(theirs)
  const find = finderOf('source', gptNames(nLayers), theirs, GPT)
  /** The tensors of the file by the ends of our names. */
  const found: Map<string, TensorInfo> = new Map()
  for (const info of infos) {
    const ours = find(info.name)
    if (ours) dropBatch(ours.name, info)
    const name = ours?.name.replace(/^trf_blocks\.\d+\./, '')
    if (name !== undefined && !found.has(name)) found.set(name, info)
  }
  const shapeOf = (name: string, expected: string) => {
    const info = found.get(name)
    if (info?.shape.length === 2) return info.shape
    throw fail('VALUE', 'source', `have ${expected}`, info ? info.shape : listed(theirs))
  }
  const [tokens, head] = [TOKENS, HEAD].map((name) => found.get(name))
  const [vocabSize, embDim] = shapeOf(
    tokens || !head ? TOKENS : HEAD,
    'wte.weight or tok_emb.weight [vocabSize, embDim]',
  )
  const [contextLength] = shapeOf('pos_emb.weight', 'wpe.weight or pos_emb.weight [contextLength, embDim]')
  if (!found.has('norm1.scale')) {
    throw fail(
      'VALUE',
      'source',
      'have blocks, such as h.0.ln_1.weight or trf_blocks.0.norm1.scale',
      listed(theirs),
    )
  }
  const hidden = found.get('ff.layers.0.weight')?.shape ?? []
  const sizes = {
    vocabSize,
    contextLength,
    embDim,
    nLayers,
    bias: ['attn.c_proj.bias', 'ff.layers.0.bias', 'norm1.shift'].some((name) => found.has(name)),
    qkvBias: found.has('attn.c_attn.bias'),
    hiddenDim: hidden[0] === embDim ? hidden[1] : hidden[0],
  }
  const { isNanoGPT, ...says } = readStated(stated)
  const config: Partial<GPTModelConfig> = { ...given.values }
  for (const [name, value] of Object.entries({ ...says, ...sizes })) {
    const wanted = Reflect.get(config, name)
    if (wanted === undefined && value !== undefined) Object.assign(config, { [name]: value })
    if (wanted === undefined || value === undefined || wanted === value) continue
    throw fail(
      'VALUE',
      given.names.get(name) ?? name,
      `be ${describe(value)}, as in the file`,
      describe(wanted),
    )
  }
  const isOther = head !== undefined && head.shape[0] !== vocabSize
  if (isOther && strict) {
    const expected = `have shape [${vocabSize}, ${embDim}], or come with strict: false`
    throw fail('SHAPE', shortName(head.name), expected, head.shape)
  }
  const isTied = isOther || !tokens || !head || (head.values !== undefined && head.values === tokens.values)
  const { nHeads = headsOf(sizes), tieWeights = isTied } = config
  // nanoGPT's GELU is the erf form, and minGPT's before 2022. Their files do not say so.
  const { approximate = isNanoGPT || isOldMinGPT(theirs) ? 'none' : 'tanh' } = config
  return { ...sizes, ...config, nHeads, tieWeights, approximate } // config has all sizes that are known
}

/** nanoGPT's model_args. Of another name, such as a fork's, nobody knows what it changes. */
const MODEL_ARGS = ['n_layer', 'n_head', 'n_embd', 'block_size', 'bias', 'vocab_size', 'dropout']

/** What changes numbers, and no shape tells. The file may be hostile. */
function readStated(stated: Record<string, unknown>): Partial<GPTModelConfig> & { isNanoGPT: boolean } {
  const isNanoGPT = Object.hasOwn(stated, 'block_size')
  const said = !isNanoGPT && isPlainObject(stated.config) ? stated.config : stated
  const config = Object.entries(said).flatMap(([name, value]) => {
    if (isNanoGPT && !MODEL_ARGS.includes(name)) {
      throw fail('VALUE', 'model_args of source', `have names among ${MODEL_ARGS.join(', ')}`, describe(name))
    }
    const isKnown = Object.hasOwn(OTHER_NAMES, name) || Object.hasOwn(ONLY_VALUES, name)
    return isKnown ? [[name, typeof value === 'string' ? parsed(value) : value]] : []
  })
  const { nHeads, layerNormEpsilon, approximate } = readConfig('source', Object.fromEntries(config)).values
  return { nHeads, layerNormEpsilon, approximate, isNanoGPT }
}

/** A number, a boolean or null that the metadata of a file has as a string. */
function parsed(text: string): unknown {
  if (/^(true|false|null)$/.test(text)) return JSON.parse(text)
  return /^-?\d/.test(text) && Number.isFinite(Number(text)) ? Number(text) : text
}

type Sizes = Pick<GPTModelConfig, 'vocabSize' | 'contextLength' | 'embDim' | 'nLayers'>

/**
 * @returns the number of heads of one of OpenAI's models
 * @throws {GptLayersError} VALUE for other sizes: no shape tells the number of heads, and with a wrong one
 *   the model would compute nonsense
 */
function headsOf({ vocabSize, contextLength, embDim, nLayers }: Sizes): number {
  const known = GPT2_SIZES.find((sizes) => sizes.embDim === embDim && sizes.nLayers === nLayers)
  if (known && vocabSize === GPT2.vocabSize && contextLength === GPT2.contextLength) return known.nHeads
  const expected = "be given for a file that does not say it, unless its sizes are those of OpenAI's GPT-2s"
  const sizes = { vocabSize, contextLength, embDim, nLayers }
  const got = Object.entries(sizes).map(([name, size]) => `${name} ${size}`)
  throw fail('VALUE', 'config.nHeads', expected, `none for ${got.join(', ')}`)
}
