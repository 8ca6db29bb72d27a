/** @import { SignalLike } from '../check.js' */
/** @import { Blueprint } from '../layers/blueprint.js' */
/** @import { GPTModel } from '../layers/gptmodel.js' */
/** @import { GenerateOptions, Generation } from './generate.js' */
/** @import { GeneratedToken } from './sample.js' */
/** @import { Session } from './session.js' */

import { warnOnce } from '../threads/warn.js'
import { generateTokens } from './generate.js'

/**
 * The options of `generate`, except for the cache. When `signal` aborts, the text ends: the loop throws the
 * signal's reason, at once.
 *
 * @typedef {Omit<GenerateOptions, 'cache'> & { signal?: SignalLike }} GenerateAsyncOptions
 */

/**
 * A text of `generateAsync`, checked.
 *
 * @typedef {object} Order
 * @property {string} where
 * @property {GPTModel} model
 * @property {() => Blueprint} plan the model's at the time
 * @property {Int32Array} ids
 * @property {Generation} generation without a cache
 * @property {SignalLike | undefined} signal
 */

/**
 * Ends the session of an iterator that nobody holds.
 *
 * @type {FinalizationRegistry<{ session?: Session }>}
 */
const forgotten = new FinalizationRegistry((opened) => opened.session?.end())

/**
 * Writes in a worker; where none can be started, on this thread.
 *
 * @param {Order} order
 * @returns {AsyncGenerator<GeneratedToken, void, undefined>}
 */
export function generateAsync(order) {
  /** @type {{ session?: Session }} Not a variable of `write`, which would hold the iterator. */
  const opened = {}
  const tokens = write(order, opened)
  forgotten.register(tokens, opened)
  return tokens
}

/**
 * @param {Order} order
 * @param {{ session?: Session }} opened gets the session
 * @returns {AsyncGenerator<GeneratedToken, void, undefined>}
 */
async function* write(order, opened) {
  const { where, model, generation, signal } = order
  const { runtime } = model
  throwIfAborted(signal)
  runtime.memory.checkLive(where)
  const random = () => runtime.generator.word() / 2 ** 32
  const chunk = await untilAborted(signal, importWorkers(model))
  runtime.memory.checkLive(where)
  if (typeof chunk === 'string') return yield* writeHere(order, chunk, random)
  const session = new chunk.Session(order)
  opened.session = session
  try {
    const reason = await session.started
    if (reason !== null) return yield* writeHere(order, reason, random)
    for (let count = 0; count < generation.maxNewTokens; count++) {
      throwIfAborted(signal) // before a random number is drawn
      runtime.memory.checkLive(where)
      const generated = await session.next(generation.sampling.temperature === 0 ? 0 : random())
      yield generated
      if (generation.stopTokens.includes(generated.token)) return
    }
  } finally {
    session.end()
  }
}

/**
 * @param {GPTModel} model
 * @returns {Promise<string | { Session: typeof Session }>} a sentence where the code cannot be imported
 */
async function importWorkers({ runtime }) {
  try {
    return await /** @type {NonNullable<typeof runtime.origin>} */ (runtime.origin).importWorkers()
  } catch (error) {
    return `the code that starts workers could not be imported (${error})`
  }
}

/**
 * @template T
 * @param {SignalLike | undefined} signal
 * @param {Promise<T>} promise
 * @returns {Promise<T>} rejected with the signal's reason once it is aborted
 */
function untilAborted(signal, promise) {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/**
 * Writes on this thread, which has time for other tasks between tokens.
 *
 * @param {Order} order
 * @param {string} reason why no worker writes
 * @param {() => number} random
 * @returns {AsyncGenerator<GeneratedToken, void, undefined>}
 */
async function* writeHere({ model, ids, generation, signal }, reason, random) {
  warnOnce(`generateAsync computes on the calling thread, because ${reason}`)
  for (const generated of generateTokens(model, ids, generation, random)) {
    yield generated
    await new Promise((resolve) => void setTimeout(resolve))
    throwIfAborted(signal)
  }
}

/** @param {SignalLike | undefined} signal */
function throwIfAborted(signal) {
  if (signal?.aborted) throw signal.reason
}
