import type { Sources } from '../files/bytes.ts'
import type { GPTModelConfig } from './gptconfig.ts'
import type { GeneratedToken } from './sample.ts'
import { checkArray, checkBoolean, checkCount, checkFunction } from '../check.ts'
import { fail, withName } from '../errors.ts'
import { Attention } from '../layers/attention.ts'
import { Dropout } from '../layers/dropout.ts'
import { Embedding } from '../layers/embedding.ts'
import { type CacheOptions, KeyValueCache } from '../layers/kvcache.ts'
import { Linear } from '../layers/linear.ts'
import { type Context, checkEvaluation, constructLayer, forwardPart, Module } from '../layers/module.ts'
import { newNorm, TransformerBlock } from '../layers/transformerblock.ts'
import * as random from '../runtime/random.ts'
import { type Tensor, checkTensorOf } from '../tensor/tensor.ts'
import { type Indices, checkIndices } from '../tensor/indices.ts'
import { chain, temporary } from '../runtime/scope.ts'
import { withoutTape } from '../tensor/tape.ts'
import { type GenerateOptions, generate } from './generate.ts'
import { type PretrainedOptions, loadPretrained } from './pretrained.ts'
import { checkConfig } from '../config.ts'

/** The standard deviation of GPT-2's initial weights. */
const DEVIATION = 0.02

/**
 * GPT-2 (Radford et al. 2019): embeddings of tokens and positions, dropout, transformer blocks, a final layer
 * norm, and a head without bias that computes a logit for each token of the vocabulary:
 *
 *     h = dropout(tokEmb(ids) + posEmb(positions))
 *     h = block(h)                                      for each block
 *     logits = outHead(finalNorm(h))
 */
export class GPTModel extends Module {
  /** @internal */
  static override readonly ownName: string = 'GPTModel'

  readonly vocabSize!: number
  readonly contextLength!: number
  readonly embDim!: number
  /** weight [vocabSize, embDim] */
  tokEmb!: Embedding
  /** weight [contextLength, embDim] */
  posEmb!: Embedding
  dropEmb!: Module
  trfBlocks!: TransformerBlock[]
  finalNorm!: Module
  /** weight [vocabSize, embDim] */
  outHead!: Linear
  /** The names of the tensors that `fromPretrained` left out, with `strict: false`. */
  ignored: readonly string[] = []

  /**
   * Draws the parameters from the random generator, in the order of the properties above.
   *
   * @param config GPT_CONFIG_124M as it is, or your own. For GPT-2's own file use `fromPretrained`: the file
   *   decides
   * @example new GPTModel({ vocabSize: 65, contextLength: 32, embDim: 64, nHeads: 4, nLayers: 2 })
   */
  constructor(config: GPTModelConfig) {
    super()
    constructLayer<GPTModel>(this, arguments, 1, () => {
      checkConfig(config, 'vocabSize', 'contextLength', 'embDim', 'nLayers', 'dropRate', 'tieWeights')
      const { vocabSize, contextLength, embDim, nLayers, dropRate = 0, tieWeights = false } = config
      const layers = temporary(() => ({
        tokEmb: new Embedding(vocabSize, embDim),
        posEmb: new Embedding(contextLength, embDim),
        dropEmb: new Dropout(dropRate),
        trfBlocks: Array.from({ length: nLayers }, () => new TransformerBlock(config)),
        finalNorm: newNorm(config),
        outHead: new Linear(embDim, vocabSize, { bias: false }),
      }))
      if (tieWeights) {
        const { tokEmb, posEmb, outHead } = layers
        tokEmb.weight.dispose()
        tokEmb.weight = outHead.weight
        // With positions from N(0, 1) the tokens, of the head's small deviation, would hardly count: a small
        // model's loss is 2.5 after 600 steps, instead of 0.1.
        const redrawn = posEmb.weight.isMeta ? [] : [tokEmb, posEmb]
        for (const { weight } of redrawn) random.normal(weight, DEVIATION)
      }
      return { vocabSize, contextLength, embDim, ...layers }
    })
  }

  /**
   * In evaluation mode two options save time:
   *
   * - `cache`, from `newCache`: ids are the tokens after those in the cache, which then has them, too. The
   *   logits have no gradient, as in `gpt.noGrad`.
   * - `lastOnly: true`: the logits of the last token only, [..., 1, vocabSize].
   *
   * @param ids [..., tokens] integers from 0 to vocabSize - 1: nested arrays, a typed array for one sequence,
   *   or a Tensor
   * @param context the options of this call. All but `lastOnly` are passed on to the blocks, such as
   *   `{ returnWeights: true }`; see `onForward`
   * @returns logits [..., tokens, vocabSize]
   * @throws {GptLayersError} SHAPE when there are no tokens, or more than contextLength, or than the cache
   *   has room for; VALUE for an id out of range, and for `cache` or `lastOnly` in training mode; UNSUPPORTED
   *   for a cache with `returnWeights`
   * @example model.forward([[0, 1, 2], [2, 3, 4]]).shape // [2, 3, 5], for a vocabulary of 5
   */
  override forward(ids: Indices, context?: Context): Tensor {
    const { contextLength, embDim } = this
    const { indices, shape } = checkIndices('ids', ids, this.vocabSize)
    const { tokEmb, posEmb, dropEmb, trfBlocks, finalNorm, outHead } = this
    checkArray('trfBlocks', trfBlocks, 'an array of layers')
    const tokens = shape.at(-1)
    if (!tokens || tokens > contextLength) {
      const expected = `end in 1 to ${contextLength} (contextLength) tokens`
      throw fail('SHAPE', 'ids', expected, shape)
    }
    const { lastOnly = false, ...rest } = context ?? {}
    checkBoolean('lastOnly', lastOnly)
    if (lastOnly) checkEvaluation('lastOnly', this)
    const embedding = (name: string, layer: unknown, x: Indices, shape: readonly number[]) =>
      checkTensorOf(`${name}'s output`, forwardPart(name, layer, x), [...shape, embDim])
    const compute = (past: number): Tensor => {
      const positions = Array.from({ length: tokens }, (_, i) => past + i)
      const tokenEmbeddings = embedding('tokEmb', tokEmb, ids, shape)
      return chain(tokenEmbeddings.add(embedding('posEmb', posEmb, positions, [tokens])), [
        (h) => embedding('dropEmb', dropEmb, h, shape),
        ...trfBlocks.map(
          (block, i) => (h: Tensor) => forwardPart(`trfBlocks[${i}]`, block, h, context && rest),
        ),
        (h) => (lastOnly && tokens > 1 ? h.slice(-1, undefined, { dim: -2 }) : h),
        (h) => forwardPart('finalNorm', finalNorm, h),
        (h) => forwardPart('outHead', outHead, h),
      ])
    }
    const { cache } = rest
    if (cache !== undefined) {
      checkEvaluation('cache', this)
      return KeyValueCache.append(cache, this, indices, shape, (past) =>
        withoutTape(() => temporary(() => compute(past))),
      )
    }
    return temporary(() => compute(0))
  }

  /**
   * An empty cache of keys and values for `forward` and `generate`: with it, they compute only the tokens
   * that are new. It knows the Attention layers that the model has now.
   *
   * @returns a cache, which is freed by `dispose`, at the end of a `scope`, or when nobody holds it
   * @example
   * const cache = model.eval().newCache({ maxTokens: 3 })
   * model.forward([0, 1], { cache }).shape // [2, 5]: the logits of both tokens
   * model.forward([2], { cache }).shape // [1, 5]: those of the third
   * cache.length // 3
   */
  newCache(options?: CacheOptions): KeyValueCache {
    const attentions = this.modules().filter((layer) => layer instanceof Attention)
    return KeyValueCache.for(this, attentions, options)
  }

  /**
   * Continues a text, one token at a time, in evaluation mode. Each token is drawn when the loop asks for it:
   *
   * 1. `repetitionPenalty` lowers the logits of the tokens that the text has already. The logits of
   *    `suppressTokens` become -Infinity.
   * 2. The probabilities are softmax(logits / temperature).
   * 3. `topK` keeps the most probable tokens, and those that equal the last of them; `topP` the fewest of
   *    them that together have that share.
   *
   * The token is drawn with one number of the random generator. So after `manualSeed` the text is the
   * same, in every browser with build `simd`. With temperature 0 it is the most probable one, and no number
   * is drawn.
   *
   * The text ends after `maxNewTokens`, or after a stop token. Without `maxNewTokens` and without
   * `slidingWindow` it also ends where the context is full: when the model has read contextLength tokens and
   * written one more. It computes in `noGrad`. A text keeps the keys and values of its tokens: after a change
   * of weights, begin a new one.
   *
   * @param ids the tokens to continue, one sequence: [tokens] or [1, tokens]; with `slidingWindow` of any
   *   length
   * @throws {GptLayersError} at the call: SHAPE when there are no tokens, or, without `slidingWindow`, more
   *   than contextLength, or than the cache has room for; VALUE when there is no room for `maxNewTokens`, for
   *   other values that are not allowed, and in training mode. From `next`: also MEMORY, and VALUE where the
   *   logits are NaN, where `suppressTokens` leave no token, and where something else has changed the cache
   *   since the call or the last token. `signal.reason` where the signal has aborted
   * @example
   * const words = []
   * for (const { token } of model.eval().generate([0, 1], { maxNewTokens: 2 })) words.push(token)
   * words.length // 2
   */
  generate(ids: Indices, options?: GenerateOptions): Generator<GeneratedToken, void, undefined> {
    return generate(this, ids, options)
  }

  /**
   * Loads a GPT from a file that PyTorch or we have written: Hugging Face's GPT-2, nanoGPT's, minGPT's, the
   * book's, or ours; safetensors, or what torch.save writes. The README has them all under "What loads". The
   * sizes come from the shapes in the file. No shape tells the number of heads: it is known for OpenAI's four
   * models, and where the file says it. Otherwise `config` should have it. The file is read once, in pieces
   * of 4 MB, and no weight exists twice. The model is in evaluation mode.
   *
   * A subclass loads itself: its constructor gets the configuration, and the file must have its parameters,
   * too. They have no values before the file is read.
   *
   * @param source a Blob or File, a Response, a ReadableStream, an async iterable of bytes such as a Readable
   *   of Node, a file handle of Node or Deno, or bytes. Several files: by their names,
   *   `{ 'model-1.safetensors': blob, ... }`, or `{ index, open }` with Hugging Face's index and a function
   *   that opens a name. A stream is read to its last value, or canceled. A file handle stays open
   * @param options with `dtype: 'int8'`, matrices become int8 on the way, and float32 is never in memory
   * @throws {GptLayersError} as a rejection, after which nothing is left behind: VALUE for a file that is
   *   truncated, damaged or of another model, for a config that contradicts it, and where nHeads is missing;
   *   UNSUPPORTED for other types than floats and exact integers, and for a weight of integers without
   *   scales; NETWORK for a response that failed;
   *   DISPOSED where `dispose` is called meanwhile. `signal.reason` where the signal aborts
   * @example
   * const model = await gpt.GPTModel.fromPretrained(await fetch('model.safetensors'), {
   *   config: { nHeads: 2 }, // not needed for OpenAI's GPT-2s
   *   onProgress: ({ loaded, total }) => console.log(`${Math.round((100 * loaded) / total)} %`),
   * })
   * model.forward(tokens).shape // [2, 3, 5]
   */
  static async fromPretrained<T extends typeof GPTModel>(
    this: T,
    source: Sources,
    options?: PretrainedOptions,
  ): Promise<InstanceType<T>> {
    try {
      checkCount(arguments, 2)
      checkFunction('this', this, 'the class: call it as GPTModel.fromPretrained(...)')
      const Model = this as unknown as new (config: GPTModelConfig) => GPTModel
      const model = await loadPretrained(Model, source, options)
      return model as InstanceType<T>
    } catch (error) {
      throw withName(error, 'GPTModel.fromPretrained')
    }
  }
}
