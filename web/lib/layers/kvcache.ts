import type { Disposes } from '../typed.ts'
import { checkInteger, checkOptions, checkSize, describe, integer, nameMethods, oneOf } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { exports, run, SCRATCH } from '../runtime/runtime.ts'
import { isByDot } from '../tensor/int8weight.ts'
import { temporary } from '../runtime/scope.ts'
import { Tensor } from '../tensor/tensor.ts'

/** An Attention. An import of it would be a circle. */
interface Layer {
  readonly embDim: number
  readonly nHeads: number
  readonly contextLength: number
}

export interface CacheOptions {
  /** the number of sequences; 1 by default */
  batchSize?: number
  /**
   * the most tokens of a sequence; the model's contextLength by default, and at most. The cache takes 2 ·
   * nLayers · embDim numbers per token from the beginning: for GPT-2 124M and its 1024 tokens 76 MB in
   * float32, 21 MB in int8
   */
  maxTokens?: number
  /**
   * how keys and values are stored; 'float32' by default. In int8 each token's key and value have a scale in
   * each head, the largest magnitude / 127: less memory and time, and less exact
   */
  dtype?: 'float32' | 'int8'
}

/** The kernels of a cache: how many floats it has for a head, and attention with it. */
const KERNELS = {
  float32: { cacheSize: 'gpt_attention_cache_size', forward: 'gpt_attention_cached_forward' },
  int8: { cacheSize: 'gpt_attention_int8_cache_size', forward: 'gpt_attention_int8_forward' },
} as const

export interface KeyValueCache extends Disposes {}

/**
 * The keys and values that a model's Attention layers have computed for the tokens so far. With them,
 * `forward` computes only the tokens that are new. Make one with `model.newCache`:
 *
 *     const cache = model.newCache()
 *     model.forward([1, 2, 3], { cache })   // logits of 3 tokens
 *     model.forward([4], { cache })         // logits of the 4th token
 *     cache.truncate(2)                     // keeps the first 2 tokens
 *
 * The keys and values are those of the model's weights at the time: after a change of weights, call
 * `truncate(0)`.
 */
export class KeyValueCache {
  /** @internal */
  static readonly ownName = 'KeyValueCache'

  /** See `Compared`. A symbol of its own: a cache equals only itself. @internal */
  readonly structuredClone = Symbol('a cache: make one with model.newCache() where it is used')

  /** The number of sequences. */
  readonly batchSize: number
  /** The most tokens of a sequence. */
  readonly maxTokens: number
  /** How keys and values are stored. */
  readonly dtype: 'float32' | 'int8'
  /** The tokens of the first sequence. Each change makes a new array: `generate` sees it by that. @internal */
  tokens: readonly number[] = []
  #model: object
  #layers: Map<Layer, { keys: Tensor; values: Tensor }>
  #tensors: readonly Tensor[]
  #disposed = false
  /** In a `forward` of the model: how many tokens it appends, and the layers that have done so. */
  #running: { count: number; done: Set<Layer> } | null = null

  /** @internal @param layers every Attention of the model */
  static for(
    model: { contextLength: number },
    layers: readonly Layer[],
    options?: CacheOptions,
  ): KeyValueCache {
    return new KeyValueCache(model, layers, options)
  }

  private constructor(model: { contextLength: number }, layers: readonly Layer[], options?: CacheOptions) {
    nameMethods(KeyValueCache)
    if (model === undefined) throw new GptLayersError('TYPE', 'KeyValueCache: make one with model.newCache()')
    const contextLength = Math.min(model.contextLength, ...layers.map((layer) => layer.contextLength))
    const defaults: Required<CacheOptions> = { batchSize: 1, maxTokens: contextLength, dtype: 'float32' }
    const { batchSize, maxTokens, dtype } = checkOptions(options, defaults, {
      batchSize: checkSize,
      maxTokens: integer(1, contextLength, ' (contextLength)'),
      dtype: oneOf('float32', 'int8'),
    })
    this.#model = model
    this.batchSize = batchSize
    this.maxTokens = maxTokens
    this.dtype = dtype
    const newLayer = ({ embDim, nHeads }: Layer) => {
      const perHead = exports[KERNELS[dtype].cacheSize](maxTokens, embDim / nHeads) >>> 0
      const [keys, values] = [0, 1].map(() => Tensor.empty([batchSize * nHeads * perHead]))
      return { keys, values }
    }
    this.#layers = temporary(() => new Map(layers.map((layer) => [layer, newLayer(layer)])))
    this.#tensors = [...this.#layers.values()].flatMap(({ keys, values }) => [keys, values])
  }

  /** The number of tokens in the cache, per sequence. */
  get length(): number {
    return this.tokens.length
  }

  /** Whether the cache was disposed, or a scope has freed it. */
  get disposed(): boolean {
    return this.#disposed || this.#tensors.some((tensor) => tensor.disposed)
  }

  /**
   * Keeps the first tokens of every sequence and forgets the others, so that a text can be edited or
   * continued in another way. It takes no time.
   *
   * @param n how many, from 0 to `length`
   * @example
   * const cache = model.eval().newCache()
   * model.forward([1, 2, 0], { cache })
   * cache.truncate(1)
   * model.forward([3], { cache }) // as the last token of [1, 3]
   * cache.length // 2
   */
  truncate(n: number): void {
    checkInteger('n', n, 0, this.length, ' (length)')
    this.#checkUsable()
    this.tokens = this.tokens.slice(0, n)
  }

  /** All keys and values, for `scope`. @internal */
  get tensorsForScope(): readonly Tensor[] {
    return this.#tensors
  }

  /** Frees the memory at once. Using the cache afterwards is an error; disposing again is not. */
  dispose(): void {
    this.#disposed = true
    for (const tensor of this.#tensors) tensor.dispose()
  }

  /** @internal @returns a live cache of this model that no `forward` uses */
  static check(value: unknown, model: object): KeyValueCache {
    const cache = asCache(value)
    if (cache.#model !== model) throw fail('VALUE', 'cache', 'come from this model', 'one of another')
    cache.#checkUsable()
    return cache
  }

  #checkUsable(): void {
    if (this.disposed) throw disposedError()
    if (this.#running === null) return
    throw fail('VALUE', 'cache', 'be used by one forward at a time, got one that a forward is using')
  }

  /**
   * Runs a `forward` of the model, in which each Attention calls `attend`. The tokens count once it has
   * succeeded.
   *
   * @internal
   * @param ids [batch, tokens]
   * @param shape the shape of ids, for an error
   * @param fn gets the number of tokens in the cache
   * @throws {GptLayersError} SHAPE where the cache has another batch size or not enough room; what `fn`
   *   throws. After INTERNAL the cache is disposed: a thread that did not finish may still write into it
   */
  static append<T>(
    value: unknown,
    model: object,
    ids: Int32Array,
    shape: readonly number[],
    fn: (past: number) => T,
  ): T {
    const cache = KeyValueCache.check(value, model)
    const [count] = shape.slice(-1)
    if (ids.length / count !== cache.batchSize) {
      const expected = `have ${cache.batchSize} sequences (the cache's batchSize)`
      throw fail('SHAPE', 'ids', expected, shape)
    }
    const room = cache.maxTokens - cache.length
    if (count > room) {
      const expected = `end in at most ${room} tokens (the cache has ${cache.length} of ${cache.maxTokens})`
      throw fail('SHAPE', 'ids', expected, shape)
    }
    cache.#running = { count, done: new Set() }
    try {
      const result = fn(cache.length)
      cache.tokens = [...cache.tokens, ...ids.subarray(0, count)]
      return result
    } catch (error) {
      if (error instanceof GptLayersError && error.code === 'INTERNAL') cache.dispose()
      throw error
    } finally {
      cache.#running = null
    }
  }

  /**
   * Causal attention of new tokens, which see the tokens of the cache, too. Their keys and values are appended to
   * the cache.
   *
   * @internal
   * @param value the cache in the context of an Attention's `forward`
   * @param y [batch, tokens, heads · size], to be written
   * @param qkv [batch, tokens, 3 · heads · size]
   */
  static attend(
    value: unknown,
    layer: Layer,
    y: Tensor,
    qkv: Tensor,
    [batch, tokens, heads, size]: readonly [number, number, number, number],
  ): void {
    const cache = asCache(value)
    const running = cache.#running
    if (running === null) {
      throw fail('VALUE', 'cache', "be passed on by its model's forward, got one outside of it")
    }
    const own = cache.#layers.get(layer)
    if (own === undefined) {
      throw fail('VALUE', 'cache', 'know each Attention of its model, got one that is newer than the cache')
    }
    if (running.done.has(layer)) {
      const expected = 'be used by an Attention once in a forward, got the same layer a second time'
      throw fail('UNSUPPORTED', 'cache', expected)
    }
    if (batch !== cache.batchSize || tokens !== running.count) {
      const expected = `have the model's ${cache.batchSize} sequences of ${running.count} tokens`
      throw fail('SHAPE', 'x', expected, `${batch} of ${tokens}`)
    }
    if (cache.disposed) throw disposedError()
    running.done.add(layer)
    const { keys, values } = own
    const sizes = [batch, tokens, cache.length, cache.maxTokens, heads, size]
    const flags = cache.dtype === 'int8' ? [isByDot()] : []
    run(KERNELS[cache.dtype].forward, [y, keys, values, SCRATCH, qkv, ...sizes, ...flags])
  }
}

function asCache(value: unknown): KeyValueCache {
  if (value instanceof KeyValueCache) return value
  throw fail('TYPE', 'cache', 'be a cache that model.newCache made', describe(value))
}

const disposedError = (): GptLayersError => fail('DISPOSED', 'cache', 'be live', 'one that was disposed')
