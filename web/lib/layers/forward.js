// What `forward` takes and returns beside a tensor, and what a listener is told of it.

/** @import { KeyValueCache } from '../generate/cache.js' */
/** @import { Indices } from '../tensor/indices.js' */
/** @import { Tensor } from '../tensor/tensor.js' */
/** @import { Module } from './module.js' */

/**
 * The second argument of `forward`: options of one call. A layer that contains layers passes it on.
 *
 * - `returnWeights`: Attention also returns its weights
 * - `cache`: the tokens before, whose keys and values Attention then does not compute again
 * - `lastOnly`: GPTModel returns the logits of the last token only; not passed on
 *
 * @typedef {{ returnWeights?: boolean, cache?: KeyValueCache, lastOnly?: boolean } &
 *   Record<string, unknown>} Context
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
export const asObject = (returned) =>
  typeof returned === 'object' && returned !== null && 'output' in returned ? returned : { output: returned }

/** @param {Returned} returned @returns {Tensor} the output alone */
export const outputOf = (returned) => asObject(returned).output
