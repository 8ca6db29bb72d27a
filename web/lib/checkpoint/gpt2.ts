import type { GPTModelConfig } from '../layers/gptmodel.ts'
import type { Module } from '../layers/module.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Header } from './header.ts'
import {
  type SignalLike,
  checkChoice,
  checkConfig,
  checkFunction,
  checkOptions,
  checkSignal,
  describe,
} from '../check.ts'
import { fail } from '../errors.ts'
import { openSource } from './source.ts'
import { listed } from './statedict.ts'
import { loadStream } from './plan.ts'
import { type ProgressListener, FileStream } from './stream.ts'

/** The name under which the metadata of our own files has the number of heads, which no shape tells. */
export const N_HEAD = 'n_head'

/** OpenAI's four GPT-2s, from 124M to XL. Their files do not say how many heads they have. */
const GPT2 = { vocabSize: 50257, contextLength: 1024 }
const GPT2_SIZES = [
  { embDim: 768, nLayers: 12, nHeads: 12 },
  { embDim: 1024, nLayers: 24, nHeads: 16 },
  { embDim: 1280, nLayers: 36, nHeads: 20 },
  { embDim: 1600, nLayers: 48, nHeads: 25 },
]

// The names of GPT-2 with and without transformers' prefix, and ours.
const TOKENS = /^(transformer\.)?(wte|tok_emb)\.weight$/
const POSITIONS = /^(transformer\.)?(wpe|pos_emb)\.weight$/
const HEAD = /^(transformer\.)?(lm_head|out_head)\.weight$/
const BLOCK = /^(transformer\.)?(h|trf_blocks)\.(\d+)\./
const QKV_BIAS = /\.attn\.c_attn\.bias$/
const HIDDEN_BIAS = /\.(mlp\.c_fc|ff\.layers\.0)\.bias$/

/**
 * The configuration of a GPT-2 from the shapes in its file.
 *
 * @param config what the user adds, such as nHeads and dropRate
 * @throws {GptLayersError} VALUE for a file of something else, for a config that says otherwise, and where the
 *   number of heads is unknown; TYPE
 */
export function configOf(
  { tensors, metadata }: Header,
  config: Partial<GPTModelConfig> = {},
): GPTModelConfig {
  const given = checkConfig(config)
  const names = tensors.map(({ name }) => name)
  const shapeOf = (pattern: RegExp, expected: string) => {
    const tensor = tensors.find(({ name }) => pattern.test(name))
    if (tensor?.shape.length === 2) return tensor.shape
    const got = tensor ? tensor.shape : listed(names, 'none')
    throw fail('VALUE', 'source', `have ${expected}`, got)
  }
  const [vocabSize, embDim] = shapeOf(TOKENS, 'wte.weight [vocabSize, embDim]')
  const [contextLength] = shapeOf(POSITIONS, 'wpe.weight [contextLength, embDim]')
  const blocks = new Set(names.flatMap((name) => BLOCK.exec(name)?.[3] ?? []))
  if (blocks.size === 0) {
    const got = listed(names, 'none')
    throw fail('VALUE', 'source', 'have blocks, such as h.0.ln_1.weight', got)
  }
  const found = {
    vocabSize,
    contextLength,
    embDim,
    nLayers: blocks.size,
    qkvBias: names.some((name) => QKV_BIAS.test(name)),
    hiddenDim: tensors.find(({ name }) => HIDDEN_BIAS.test(name))?.shape[0],
  }
  for (const [name, value] of Object.entries(found)) {
    const wanted = Reflect.get(given, name)
    if (wanted === undefined || value === undefined || wanted === value) continue
    throw fail('VALUE', `config.${name}`, `be ${value}, as in the file`, describe(wanted))
  }
  const stated = metadata.get(N_HEAD)
  const {
    nHeads = stated === undefined ? headsOf(found) : Number(stated),
    tieWeights = !names.some((name) => HEAD.test(name)),
  } = given
  return { ...given, ...found, nHeads, tieWeights }
}

type Sizes = Pick<GPTModelConfig, 'vocabSize' | 'contextLength' | 'embDim' | 'nLayers'>

/**
 * @returns the number of heads of one of OpenAI's models
 * @throws {GptLayersError} VALUE for other sizes: no shape tells the number of heads, and with a wrong one the
 *   model would compute nonsense
 */
function headsOf({ vocabSize, contextLength, embDim, nLayers }: Sizes): number {
  const known = GPT2_SIZES.find((sizes) => sizes.embDim === embDim && sizes.nLayers === nLayers)
  if (known && vocabSize === GPT2.vocabSize && contextLength === GPT2.contextLength) return known.nHeads
  const expected = "be given for a file that does not say it, unless its sizes are those of OpenAI's GPT-2s"
  const sizes = { vocabSize, contextLength, embDim, nLayers }
  const got = Object.entries(sizes).map(([name, size]) => `${name} ${size}`)
  throw fail('VALUE', 'config.nHeads', expected, `none for ${got.join(', ')}`)
}

export interface LoadModelOptions {
  /**
   * 'int8': matrices become int8 as they arrive, as `quantize` makes them; 'float32' by default. Weights
   * that are int8 in the file stay so with both
   */
  dtype?: 'float32' | 'int8'
  /**
   * what the file does not say: nHeads (known for OpenAI's GPT-2s and for our own files; needed for all
   * others), dropRate, approximate, tieWeights (by default whether the file has no head). What the shapes in
   * the file say must be the same here
   */
  config?: Partial<GPTModelConfig>
  /**
   * called at most about 100 times, the last time when all is loaded; an error that it throws ends the
   * loading
   */
  onProgress?: ProgressListener
  /** ends the loading when it aborts */
  signal?: SignalLike
}

/**
 * Loads a model from a file. The parameters of our layers are meta tensors until the file has given
 * their values; buffers, and what a subclass makes by itself, are not.
 */
export async function loadModel<M extends Module>(
  runtime: Runtime,
  Model: new (config: GPTModelConfig) => M,
  source: unknown,
  options: LoadModelOptions | undefined,
): Promise<M> {
  const file = openSource(source)
  let stream: FileStream | null = null
  let model: M | null = null
  try {
    const { dtype, config, onProgress, signal } = checkLoadOptions(options)
    runtime.memory.checkLive()
    stream = new FileStream(file, onProgress, signal)
    const header = await stream.readHeader()
    const sizes = configOf(header, config)
    model = runtime.temporary(() => runtime.withMeta(() => new Model(sizes)))
    await loadStream(model, stream, header.tensors, dtype)
    await stream.end()
    file.close()
    return model.eval()
  } catch (error) {
    file.close(error)
    model?.dispose()
    throw error
  } finally {
    stream?.close()
  }
}

function checkLoadOptions(options: LoadModelOptions | undefined) {
  const defaults: LoadModelOptions = {
    dtype: 'float32',
    config: {},
    onProgress: undefined,
    signal: undefined,
  }
  const { dtype, config, onProgress, signal } = checkOptions(options, defaults)
  checkChoice('dtype', dtype, ['float32', 'int8'])
  if (onProgress !== undefined) checkFunction('onProgress', onProgress)
  checkSignal(signal)
  return { dtype, config, onProgress, signal }
}
