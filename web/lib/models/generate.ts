import {
  type SignalLike,
  checkArray,
  checkInteger,
  checkNumber,
  checkOptions,
  checkProbability,
  checkSignal,
  checkSize,
} from '../check.ts'
import { fail, withName } from '../errors.ts'
import { type CacheOptions, KeyValueCache } from '../layers/kvcache.ts'
import * as random from '../runtime/random.ts'
import { heap } from '../runtime/runtime.ts'
import { checkTensorOf } from '../tensor/check.ts'
import { type Indices, checkIndices } from '../tensor/indices.ts'
import { temporary } from '../tensor/scope.ts'
import { Tensor } from '../tensor/tensor.ts'
import { type GeneratedToken, type Sampling, sampleToken } from './sample.ts'

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

/** Every option with its default; undefined where there is none. */
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

/** Options after their check. */
interface Generation {
  /** the text has so many, unless a stop token ends it */
  maxNewTokens: number
  sampling: Sampling
  stopTokens: readonly number[]
  slidingWindow: number | undefined
  cache: KeyValueCache | undefined
  /** the cache's at the call */
  version: number | undefined
  signal: SignalLike | undefined
}

export function checkGeneration(
  model: LanguageModel,
  ids: Indices,
  options: GenerateOptions | undefined,
): { tokens: Int32Array; checked: Generation } {
  const { vocabSize, contextLength } = model
  heap()
  const own = Object.entries(checkOptions(options, DEFAULTS)).filter(([, value]) => value !== null)
  const given = { ...DEFAULTS, ...Object.fromEntries(own) }
  const { maxNewTokens, temperature, topK, topP, repetitionPenalty, signal } = given
  if (maxNewTokens !== Infinity) checkSize('maxNewTokens', maxNewTokens)
  const isTemperature = (n: number) => n >= 0 && Math.fround(n) < Infinity
  checkNumber('temperature', temperature, 'a finite float32 >= 0', isTemperature)
  const isCount = (n: number) => n === Infinity || (Number.isInteger(n) && n >= 0)
  checkNumber('topK', topK, 'an integer >= 0, where 0 is no limit', isCount)
  checkProbability('topP', topP)
  const isFactor = (n: number) => n > 0 && n < Infinity
  checkNumber('repetitionPenalty', repetitionPenalty, 'a finite number > 0', isFactor)
  const stopTokens = checkTokens('stopTokens', given.stopTokens, vocabSize)
  const suppressTokens = checkTokens('suppressTokens', given.suppressTokens, vocabSize)
  checkSignal(signal)
  const { indices: tokens, shape } = checkIndices('ids', ids, vocabSize)
  if (tokens.length === 0 || shape.length === 0 || shape.length > 2 || tokens.length !== shape.at(-1)) {
    const expected = 'be one sequence of at least one token, [tokens] or [1, tokens]'
    throw fail('SHAPE', 'ids', expected, shape)
  }
  if (model.training) {
    throw fail('VALUE', 'the model', 'be in evaluation mode; call eval() first', 'training mode')
  }
  const cache = given.cache === undefined ? undefined : KeyValueCache.check(given.cache, model)
  if (cache !== undefined && cache.batchSize !== 1) {
    throw fail('SHAPE', 'cache', 'have batchSize 1', cache.batchSize)
  }
  const { slidingWindow } = given
  const capacity = cache?.maxTokens ?? contextLength
  const limit = cache === undefined ? 'contextLength' : 'maxTokens'
  let most = Infinity
  if (slidingWindow !== undefined) {
    checkInteger('slidingWindow', slidingWindow, 1, capacity, ` (${limit})`)
  } else {
    const room = capacity - (cache?.length ?? 0)
    const why = cache === undefined ? limit : `the cache has ${cache.length} of ${capacity} (${limit})`
    if (tokens.length > room) {
      throw fail('SHAPE', 'ids', `have at most ${room} tokens (${why})`, tokens.length)
    }
    most = room - tokens.length + 1 // the last token is written, but not read
    if (maxNewTokens !== Infinity && maxNewTokens > most) {
      const read = `ids has ${tokens.length} of at most ${room} tokens (${why})`
      throw fail(
        'VALUE',
        'maxNewTokens',
        `be at most ${most} without slidingWindow, as ${read}`,
        maxNewTokens,
      )
    }
  }
  const sampling = {
    temperature: Math.fround(temperature),
    topK: topK || Infinity,
    topP,
    repetitionPenalty,
    suppressTokens,
  }
  const checked = {
    maxNewTokens: Math.min(maxNewTokens, most),
    sampling,
    stopTokens,
    slidingWindow,
    cache,
    version: cache?.version,
    signal,
  }
  return { tokens, checked }
}

/** @returns a copy */
function checkTokens(name: string, tokens: readonly number[], vocabSize: number): readonly number[] {
  checkArray(name, tokens, 'an array of tokens')
  return tokens.map((token, i) => {
    checkInteger(`${name}[${i}]`, token, 0, vocabSize - 1)
    return token
  })
}

/**
 * @param ids checked
 * @param generation checked
 */
export function* generateTokens(
  model: LanguageModel,
  ids: Int32Array,
  { maxNewTokens, sampling, stopTokens, slidingWindow, cache: given, version, signal }: Generation,
): Generator<GeneratedToken, void, undefined> {
  const { vocabSize } = model
  const draw = () => random.word() / 2 ** 32
  const maxTokens = Math.min(model.contextLength, ids.length + maxNewTokens - 1)
  const cache = given ?? temporary(() => take(model.newCache({ maxTokens })))
  try {
    const text = [...cache.tokens(), ...ids]
    let next = ids
    let known = version ?? cache.version
    for (let count = 0; count < maxNewTokens; count++) {
      if (signal?.aborted) throw signal.reason
      if (cache.version !== known) {
        const expected = 'be used by one text at a time, got one that something else has changed'
        throw fail('VALUE', 'cache', expected)
      }
      if (slidingWindow !== undefined && cache.length + next.length > cache.maxTokens) {
        cache.truncate(0)
        next = Int32Array.from(text.slice(-slidingWindow))
      }
      const generated = temporary(() => {
        const logits = model.forward(next, { cache, lastOnly: true })
        checkTensorOf("forward's output", logits, [1, vocabSize])
        return sampleToken(logits, text, sampling, draw)
      })
      known = cache.version
      yield generated
      if (stopTokens.includes(generated.token)) return
      text.push(generated.token)
      next = Int32Array.of(generated.token)
    }
  } catch (error) {
    throw withName(error, 'GPTModel.generate')
  } finally {
    if (given === undefined) cache.dispose()
  }
}

/** From here on no scope frees the cache. */
function take(cache: KeyValueCache): KeyValueCache {
  for (const tensor of cache.tensorsForScope) Tensor.take(tensor)
  return cache
}
