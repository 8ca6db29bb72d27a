// What `forward` takes and returns beside a tensor, and who is told of it.

/** @import { Indices } from '../tensor/indices.js' */
/** @import { Tensor } from '../tensor/tensor.js' */
/** @import { Module } from './module.js' */

import { describe } from '../check.js'
import { GptLayersError } from '../errors.js'

/**
 * The second argument of `forward`: options of one call. A layer that contains layers passes it on.
 *
 * - `returnWeights`: Attention also returns its weights
 *
 * @typedef {{ returnWeights?: boolean } & Record<string, unknown>} Context
 */

/**
 * What `forward` returns: a tensor, or an object of it and more where the context asks for more.
 *
 * @typedef {Tensor | { output: Tensor }} Returned
 */

/**
 * One call of `forward`, as a listener sees it. The tensors are valid during the listener's call only:
 * `clone` those that you keep.
 *
 * @typedef {object} ForwardEvent
 * @property {string} name the module's path in the one that is listened to, such as `trf_blocks.0.norm1`; ''
 *   for that one
 * @property {Module} module
 * @property {Indices} input the first argument: a Tensor, or the integers that Embedding and GPTModel take
 * @property {Tensor} output
 * @property {Tensor} [weights] an Attention's [..., nHeads, tokens, tokens], where the context has
 *   `returnWeights: true`
 */

/** @typedef {(event: ForwardEvent) => void} ForwardListener */

/** @param {Returned} returned @returns {{ output: Tensor }} */
const asObject = (returned) =>
  typeof returned === 'object' && returned !== null && 'output' in returned ? returned : { output: returned }

/** @param {Returned} returned @returns {Tensor} the output alone */
export const outputOf = (returned) => asObject(returned).output

/**
 * The listeners of each module that has any.
 *
 * @type {WeakMap<Module, { entries: Set<{ name: string, listener: ForwardListener }>, restore: () => void }>}
 */
const observed = new WeakMap()

/** @param {Module} module @returns {boolean} whether anyone listens to it */
export const isObserved = (module) => observed.has(module)

/**
 * Tells a listener of every `forward` of some modules. A module without listeners pays nothing: its `forward`
 * is wrapped while there are any.
 *
 * @param {string} where
 * @param {readonly (readonly [string, Module])[]} named
 * @param {unknown} listener
 * @returns {() => void} ends it
 * @throws {GptLayersError} TYPE
 */
export function observe(where, named, listener) {
  if (typeof listener !== 'function') {
    throw new GptLayersError('TYPE', `${where}: listener should be a function, got ${describe(listener)}`)
  }
  const added = named.map(([name, module]) => {
    const entry = { name, listener: /** @type {ForwardListener} */ (listener) }
    const { entries, restore } = observed.get(module) ?? wrap(module)
    entries.add(entry)
    return { module, entries, entry, restore }
  })
  return () => {
    for (const { module, entries, entry, restore } of added) {
      if (!entries.delete(entry) || entries.size > 0) continue
      observed.delete(module)
      restore()
    }
  }
}

/** @param {Module} module whose `forward` is to tell listeners @returns its listeners, none yet */
function wrap(module) {
  /** @type {Set<{ name: string, listener: ForwardListener }>} */
  const entries = new Set()
  const before = Object.getOwnPropertyDescriptor(module, 'forward')
  const { forward } = module
  /** @type {Module['forward']} */
  const telling = (x, context) => {
    const returned = forward.call(module, x, context)
    for (const { name, listener } of [...entries]) {
      listener({ name, module, input: x, ...asObject(returned) })
    }
    return returned
  }
  Object.defineProperty(module, 'forward', { value: telling, configurable: true, enumerable: false })
  const restore = () => {
    if (before) Object.defineProperty(module, 'forward', before)
    else Reflect.deleteProperty(module, 'forward')
  }
  const state = { entries, restore }
  observed.set(module, state)
  return state
}
