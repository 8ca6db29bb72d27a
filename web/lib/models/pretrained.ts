// Loads a GPT from a file, or from several.

import type { Reading, TensorFile } from '../files/reading.ts'
import { checkFunction, checkOptions, checkSignal, oneOf, type SignalLike } from '../check.ts'
import { importTorchReader } from '../files/load.ts'
import { readSafetensors } from '../files/safetensors.ts'
import { type BufferedReader, type Sources, closeSources, openSources, orAborted } from '../files/bytes.ts'
import { type Module, namedModules } from '../layers/module.ts'
import { HEAD, TOKENS } from '../files/gptnames.ts'
import { matricesOf } from '../files/matrix.ts'
import { lacks, matchNames } from '../files/names.ts'
import { heap } from '../runtime/runtime.ts'
import { temporary } from '../runtime/scope.ts'
import { withMeta } from '../tensor/tensor.ts'
import { type GPTModelConfig, configOf } from './gptconfig.ts'
import { Copier } from '../files/copy.ts'

export type ProgressListener = (progress: { loaded: number; total: number }) => void

export interface PretrainedOptions {
  /**
   * 'int8': matrices become int8 as they arrive, as `quantize` makes them; 'float32' by default. Weights
   * that are int8 in the file stay so with both
   */
  dtype?: 'float32' | 'int8'
  /**
   * what the file does not say, above all the number of heads: a config.json of Hugging Face, the book's
   * GPT_CONFIG_124M, nanoGPT's model_args, or ours. What the file says must be the same here
   */
  config?: object
  /**
   * false: tensors that the model lacks, and a head for something else than tokens, are left out, and listed in
   * `model.ignored`; true by default
   */
  strict?: boolean
  /**
   * called at most about 100 times, the last time when all is loaded; an error that it throws ends the
   * loading
   */
  onProgress?: ProgressListener
  /** ends the loading when it aborts */
  signal?: SignalLike
}

const DEFAULTS: PretrainedOptions & { dtype: 'float32' | 'int8'; config: object; strict: boolean } = {
  dtype: 'float32',
  config: {},
  strict: true,
  onProgress: undefined,
  signal: undefined,
}

/** How often progress is told. */
const REPORTS = 100

/** The first bytes of a ZIP archive, which torch.save writes. */
const ZIP = [0x50, 0x4b, 3, 4]

/**
 * Loads a model from a file. The parameters of our layers are meta tensors until the file has given
 * their values; buffers, and what a subclass makes by itself, are not.
 */
export async function loadPretrained<M extends Module & { ignored: readonly string[] }>(
  Model: new (config: GPTModelConfig) => M,
  source: Sources,
  options: PretrainedOptions | undefined,
): Promise<M> {
  let opening: Promise<BufferedReader>[] = []
  let model: M | null = null
  try {
    opening = openSources(source)
    const { dtype, config, strict, onProgress, signal } = checkOptions(options, DEFAULTS, {
      dtype: oneOf('float32', 'int8'),
      onProgress: checkFunction,
      signal: checkSignal,
    })
    const memory = heap()
    const inputs = await orAborted(Promise.all(opening), signal)
    let [loaded, total, told] = [0, Infinity, 0]
    const tell = () => {
      told = loaded
      onProgress?.({ loaded, total })
    }
    const onBytes = (bytes: number) => {
      loaded += bytes
      if (loaded >= told + total / REPORTS && loaded < total) tell()
      // While we waited for the bytes, and in onProgress, `dispose` and `load` may have run. From here on
      // nothing waits until the bytes are in the model.
      memory.checkLive()
    }
    const files: TensorFile[] = []
    for (const input of inputs) {
      input.listen(signal, onBytes)
      files.push(await input.run(await readerFor(input)))
    }
    total = files.reduce((sum, { byteLength }) => sum + byteLength, 0)
    const infos = files.flatMap(({ tensors }) => tensors)
    const stated = Object.assign({}, ...files.map(({ stated }) => stated))
    const sizes = configOf(infos, stated, config, strict)
    model = temporary(() => withMeta(() => new Model(sizes)))
    const [own, matrices] = [model.stateDict(), matricesOf(namedModules(model))]
    const { matches, missing, unknown } = matchNames(own, matrices, 'source', infos, strict)
    // A head for classes, which chapter 6 of the book puts in place of the one for tokens.
    const head = matches.find(({ name, info, target }) => name === HEAD && info.shape[0] !== target.shape[0])
    if (head) {
      matches.splice(matches.indexOf(head), 1)
      unknown.push(head.info.name)
      if (own[HEAD] !== own[TOKENS]) missing.push(HEAD)
    }
    if (missing.length > 0) throw lacks('source', missing, unknown)
    const copier = new Copier(memory, matrices, matches, dtype)
    try {
      for (const [i, file] of files.entries()) await inputs[i].run(file.read((info) => copier.writerOf(info)))
    } finally {
      copier.end()
    }
    loaded = total
    tell()
    memory.checkLive()
    inputs.forEach((input) => input.close())
    model.ignored = unknown
    return model.eval()
  } catch (error) {
    closeSources(opening, error)
    model?.dispose()
    throw error
  }
}

/** The reader of torch.save's files is fetched where it is needed. */
async function readerFor(input: BufferedReader): Promise<Reading<TensorFile>> {
  const prefix = await input.peek(ZIP.length)
  if (!ZIP.every((byte, i) => prefix[i] === byte)) return readSafetensors('source')
  const { readTorchModel } = await importTorchReader()
  return readTorchModel('source')
}
