import type { Disposes } from '../typed.ts'
import { checkChoice, checkInteger, checkOptions, checkSize, describe, nameMethods } from '../check.ts'
import { fail, GptLayersError } from '../errors.ts'
import { exports } from '../runtime/runtime.ts'
import { isByDot } from '../tensor/int8weight.ts'
import { temporary } from '../tensor/scope.ts'
import { Tensor } from '../tensor/tensor.ts'

/** An Attention. */
interface Layer {
  readonly embDim: number
  readonly nHeads: number
}

export interface CacheOptions {
  /** the number of sequences; 1 by default */
  batchSize?: number
  /**
   * the most tokens of a sequence; the model's contextLength by default, and at most. The cache takes 2 ·
   * nLayers · embDim numbers per token from the beginning: for GPT-2 124M and its 1024 tokens 75 MB in
   * float32, 21 MB in int8
   */
  maxTokens?: number
  /**
   * how keys and values are stored; 'float32' by default. In int8 each token's key and value have a scale in
   * each head, the largest magnitude / 127: less memory and time, and less exact
   */
  dtype?: 'float32' | 'int8'
}

/** A `forward` of the model with the cache. */
type Pass = { tokens: number }

/** Where an Attention keeps its keys and values, and the last forward in which it did. */
type Place = { keys: Tensor; values: Tensor; pass: Pass | null }

/** Where an Attention appends to. */
export type CachePlace = {
  keys: Tensor
  values: Tensor
  past: number
  capacity: number
  kernel: (typeof KERNELS)['float32' | 'int8']['forward']
  /** the kernel's arguments after the sizes: for int8, which loop multiplies */
  flags: number[]
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
  #model: object
  #places: Map<Layer, Place>
  /** The tokens of the first sequence. */
  #ids: Int32Array
  /** How often the tokens have changed. @internal */
  version = 0
  #length = 0
  #disposed = false
  #pass: Pass | null = null

  /**
   * @internal
   * @param layers every Attention of the model
   */
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
    const { contextLength } = model
    const defaults = { batchSize: 1, maxTokens: contextLength, dtype: 'float32' }
    const { batchSize, maxTokens, dtype } = checkOptions(options, defaults)
    checkSize('batchSize', batchSize)
    checkInteger('maxTokens', maxTokens, 1, contextLength, ' (contextLength)')
    checkChoice('dtype', dtype, ['float32', 'int8'])
    this.#model = model
    this.batchSize = batchSize
    this.maxTokens = maxTokens
    this.dtype = dtype
    this.#ids = new Int32Array(maxTokens)
    this.#places = temporary(
      () =>
        new Map(
          layers.map((layer) => {
            const { embDim, nHeads } = layer
            const perHead = exports[KERNELS[dtype].cacheSize](maxTokens, embDim / nHeads) >>> 0
            const make = () => Tensor.empty([batchSize * nHeads * perHead])
            return [layer, { keys: make(), values: make(), pass: null }]
          }),
        ),
    )
  }

  /** The number of tokens in the cache, per sequence. */
  get length(): number {
    return this.#length
  }

  /** Whether the cache was disposed, or a scope has freed it. */
  get disposed(): boolean {
    if (this.#disposed) return true
    for (const { keys, values } of this.#places.values()) if (keys.disposed || values.disposed) return true
    return false
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
    checkInteger('n', n, 0, this.#length, ' (length)')
    this.#checkUsable()
    this.#length = n
    this.version++
  }

  /** Frees the memory at once. Using the cache afterwards is an error; disposing again is not. */
  dispose(): void {
    this.#disposed = true
    for (const tensor of this.tensorsForScope) tensor.dispose()
  }

  // See Tensor's.
  /** @internal */
  [Symbol.dispose](): void {
    this.dispose()
  }

  /** For `scope`. @internal */
  get tensorsForScope(): Tensor[] {
    return [...this.#places.values()].flatMap(({ keys, values }) => [keys, values])
  }

  /**
   * @internal
   * @returns a copy of the first sequence's tokens
   */
  tokens(): Int32Array {
    return this.#ids.slice(0, this.#length)
  }

  /**
   * @internal
   * @returns a live cache of this model that no `forward` uses
   */
  static check(value: unknown, model: object): KeyValueCache {
    if (!(value instanceof KeyValueCache)) {
      throw fail('TYPE', 'cache', 'be a cache that model.newCache made', describe(value))
    }
    if (value.#model !== model) {
      throw fail('VALUE', 'cache', 'come from this model', 'one of another')
    }
    value.#checkUsable()
    return value
  }

  /**
   * Runs a `forward` of the model, which appends tokens to the cache. They count once it has succeeded.
   *
   * @internal
   * @param ids [batch, tokens]
   * @param shape the shape of ids, for an error
   * @throws {GptLayersError} SHAPE where the cache has another batch size or not enough room; what `fn`
   *   throws. After INTERNAL the cache is disposed: a thread that did not finish may still write into it
   */
  static append<T>(cache: KeyValueCache, ids: Int32Array, shape: readonly number[], fn: () => T): T {
    const past = cache.#length
    const [tokens] = shape.slice(-1)
    const batch = ids.length / tokens
    if (batch !== cache.batchSize) {
      const expected = `have ${cache.batchSize} sequences (the cache's batchSize)`
      throw fail('SHAPE', 'ids', expected, shape)
    }
    const room = cache.maxTokens - past
    if (tokens > room) {
      const expected = `end in at most ${room} tokens (the cache has ${past} of ${cache.maxTokens})`
      throw fail('SHAPE', 'ids', expected, shape)
    }
    cache.#pass = { tokens }
    try {
      const result = fn()
      cache.#ids.set(ids.subarray(0, tokens), past)
      cache.#length = past + tokens
      cache.version++
      return result
    } catch (error) {
      if (error instanceof GptLayersError && error.code === 'INTERNAL') cache.dispose()
      throw error
    } finally {
      cache.#pass = null
    }
  }

  /**
   * Where a layer appends the keys and values of an input [batch, tokens, ...].
   *
   * @internal
   * @param value the cache in the context of an Attention's `forward`
   */
  static placeOf(value: unknown, layer: Layer, batch: number, tokens: number): CachePlace {
    if (!(value instanceof KeyValueCache)) {
      const expected = "a cache of the model's, passed on by the model's forward"
      throw fail('TYPE', 'cache', `be ${expected}`, describe(value))
    }
    const pass = value.#pass
    if (pass === null) {
      throw fail('VALUE', 'cache', "be passed on by its model's forward, got one outside of it")
    }
    const place = value.#places.get(layer)
    if (place === undefined) {
      throw fail('VALUE', 'cache', 'know each Attention of its model, got one that is newer than the cache')
    }
    if (place.pass === pass) {
      const expected = 'be used by an Attention once in a forward, got the same layer a second time'
      throw fail('UNSUPPORTED', 'cache', expected)
    }
    if (batch !== value.batchSize || tokens !== pass.tokens) {
      const expected = `have the model's ${value.batchSize} sequences of ${pass.tokens} tokens`
      throw fail('SHAPE', 'x', expected, `${batch} of ${tokens}`)
    }
    if (value.#disposed || place.keys.disposed || place.values.disposed) throw disposedError()
    place.pass = pass
    return {
      keys: place.keys,
      values: place.values,
      past: value.#length,
      capacity: value.maxTokens,
      kernel: KERNELS[value.dtype].forward,
      flags: value.dtype === 'int8' ? [isByDot()] : [],
    }
  }

  #checkUsable(): void {
    if (this.disposed) throw disposedError()
    if (this.#pass === null) return
    throw fail('VALUE', 'cache', 'be used by one forward at a time, got one that a forward is using')
  }
}

const disposedError = (): GptLayersError => fail('DISPOSED', 'cache', 'be live', 'one that was disposed')
