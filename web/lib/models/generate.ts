import {
  type Check,
  type SignalLike,
  checkArray,
  checkInteger,
  checkNonNegativeFloat32,
  checkOptions,
  checkProbability,
  checkSignal,
  checkSize,
  isPlainObject,
  number,
} from '../check.ts'
import { fail, withName } from '../errors.ts'
import { type CacheOptions, KeyValueCache } from '../layers/kvcache.ts'
import { heap } from '../runtime/runtime.ts'
import { type Indices, checkIndices } from '../tensor/indices.ts'
import { temporary, withoutScope } from '../runtime/scope.ts'
import { checkTensorOf, Tensor } from '../tensor/tensor.ts'
import { type GeneratedToken, sampleToken } from './sample.ts'

/** What `generate` needs of a model. */
interface LanguageModel {
  readonly vocabSize: number
  readonly contextLength: number
  readonly training: boolean
  forward(ids: Indices, context: { cache: KeyValueCache; lastOnly: boolean }): Tensor
  newCache(options: CacheOptions): KeyValueCache
}

/** null is as undefined, as transformers' None. */
export interface GenerateOptions {
  /**
   * the most tokens. By default as many as the model has room for, which with a slidingWindow is any number.
   * Without one, more than there is room for are an error
   */
  maxNewTokens?: number | null
  /**
   * divides the logits, at least 0; 1 by default. Below 1 probable tokens become more probable; 0 takes the
   * most probable one
   */
  temperature?: number | null
  /**
   * only so many tokens can be drawn, the most probable ones, and those that equal the last of them; 0, the
   * default, is no limit
   */
  topK?: number | null
  /**
   * only the most probable tokens that together have this probability can be drawn, the fewest that do, and
   * at least one; from 0 to 1, the default
   */
  topP?: number | null
  /**
   * above 0; 1, the default, changes nothing. The logits of tokens that the text has, the cache's included,
   * are divided by it where they are positive, and otherwise multiplied
   */
  repetitionPenalty?: number | null
  /** each of these ends the text, and is its last token */
  stopTokens?: readonly number[] | null
  /** none of these is drawn, such as the ids that pad a vocabulary of 50,257 to 50,304 */
  suppressTokens?: readonly number[] | null
  /**
   * lets the text be of any length, ids included. Where the next token does not fit into contextLength, or
   * into the cache, the model forgets all and reads the last `slidingWindow` tokens again; then it goes on
   * until it is full again. With `slidingWindow: contextLength`, each further token is computed from the last
   * contextLength tokens, as nanoGPT does; a smaller window reads again less often, and is faster
   */
  slidingWindow?: number | null
  /**
   * of `newCache`: ids continue the tokens in the cache. At the end the cache has the whole text but its
   * last token, which nothing has followed yet: to go on, begin the next ids with it. Without one,
   * `generate` makes a cache and frees it
   */
  cache?: KeyValueCache | null
  /** ends the text when it aborts: `next` throws `signal.reason` in place of a further token */
  signal?: SignalLike | null
}

const DEFAULTS = {
  maxNewTokens: Infinity,
  temperature: 1,
  topK: 0,
  topP: 1,
  repetitionPenalty: 1,
  stopTokens: [] as readonly number[],
  suppressTokens: [] as readonly number[],
  slidingWindow: undefined as number | undefined,
  cache: undefined as KeyValueCache | undefined,
  signal: undefined as SignalLike | undefined,
}

type Options = typeof DEFAULTS

function resolve(options: unknown, model: LanguageModel): Options {
  // `checkOptions` refuses what is no plain object.
  const given = isPlainObject(options)
    ? Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null))
    : options
  const tokens: Check = (name, value) => {
    checkArray(name, value, 'an array of tokens')
    value.forEach((token, i) => checkInteger(`${name}[${i}]`, token, 0, model.vocabSize - 1))
  }
  const checked = checkOptions<Options>(given, DEFAULTS, {
    maxNewTokens: checkSize,
    temperature: checkNonNegativeFloat32,
    topK: number(
      'an integer >= 0, where 0 is no limit',
      (n) => n === Infinity || (Number.isInteger(n) && n >= 0),
    ),
    topP: checkProbability,
    repetitionPenalty: number('a finite number > 0', (n) => n > 0 && n < Infinity),
    stopTokens: tokens,
    suppressTokens: tokens,
    cache: (_name, value) => {
      const { batchSize } = KeyValueCache.check(value, model)
      if (batchSize !== 1) throw fail('SHAPE', 'cache', 'have batchSize 1', batchSize)
    },
    signal: checkSignal,
  })
  const { stopTokens, suppressTokens } = checked
  return { ...checked, stopTokens: [...stopTokens], suppressTokens: [...suppressTokens] }
}

/** Checks and copies all arguments at the call. Each token is computed when it is asked for. */
export function generate(
  model: LanguageModel,
  ids: Indices,
  options: GenerateOptions | undefined,
): Generator<GeneratedToken, void, undefined> {
  heap()
  const given = resolve(options, model)
  const { indices, shape } = checkIndices('ids', ids, model.vocabSize)
  if (indices.length === 0 || shape.length === 0 || shape.length > 2 || indices.length !== shape.at(-1)) {
    const expected = 'be one sequence of at least one token, [tokens] or [1, tokens]'
    throw fail('SHAPE', 'ids', expected, shape)
  }
  if (model.training) {
    throw fail('VALUE', 'the model', 'be in evaluation mode; call eval() first', 'training mode')
  }
  const maxNewTokens = checkRoom(model, indices.length, given)
  return tokensOf(model, indices, { ...given, maxNewTokens }, given.cache?.tokens)
}

/** @returns the most tokens to write after `count` */
function checkRoom(
  { contextLength }: LanguageModel,
  count: number,
  { maxNewTokens, slidingWindow, cache }: Options,
): number {
  const [capacity, limit] = cache ? [cache.maxTokens, 'maxTokens'] : [contextLength, 'contextLength']
  if (slidingWindow !== undefined) {
    checkInteger('slidingWindow', slidingWindow, 1, capacity, ` (${limit})`)
    return maxNewTokens
  }
  const room = capacity - (cache?.length ?? 0)
  const why = cache ? `the cache has ${cache.length} of ${capacity} (${limit})` : limit
  if (count > room) throw fail('SHAPE', 'ids', `have at most ${room} tokens (${why})`, count)
  const most = room - count + 1 // the last token is written, but not read
  if (maxNewTokens === Infinity || maxNewTokens <= most) return Math.min(maxNewTokens, most)
  const read = `ids has ${count} of at most ${room} tokens (${why})`
  throw fail('VALUE', 'maxNewTokens', `be at most ${most} without slidingWindow, as ${read}`, maxNewTokens)
}

/** @param known the tokens that the cache had at the call */
function* tokensOf(
  model: LanguageModel,
  ids: Int32Array,
  options: Options,
  known: readonly number[] | undefined,
): Generator<GeneratedToken, void, undefined> {
  const { maxNewTokens, slidingWindow, stopTokens, signal } = options
  const maxTokens = Math.min(model.contextLength, ids.length + maxNewTokens - 1)
  const cache = options.cache ?? withoutScope(() => model.newCache({ maxTokens }))
  try {
    let before = known ?? cache.tokens
    const text = [...before, ...ids]
    let next = ids
    for (let count = 0; count < maxNewTokens; count++) {
      if (signal?.aborted) throw signal.reason
      if (cache.tokens !== before) {
        const expected = 'be used by one text at a time, got one that something else has changed'
        throw fail('VALUE', 'cache', expected)
      }
      if (slidingWindow !== undefined && cache.length + next.length > cache.maxTokens) {
        cache.truncate(0)
        next = Int32Array.from(text.slice(-slidingWindow))
      }
      const generated = temporary(() => {
        const logits = model.forward(next, { cache, lastOnly: true })
        checkTensorOf("forward's output", logits, [1, model.vocabSize])
        return sampleToken(logits, text, options)
      })
      before = cache.tokens
      yield generated
      if (stopTokens.includes(generated.token)) return
      text.push(generated.token)
      next = Int32Array.of(generated.token)
    }
  } catch (error) {
    throw withName(error, `${model.constructor.name}.generate`)
  } finally {
    if (options.cache === undefined) cache.dispose()
  }
}
