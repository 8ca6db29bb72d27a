// What `forward` takes and returns beside a tensor, and what a listener is told of it.

import type { KeyValueCache } from '../generate/cache.ts'
import type { Indices } from '../tensor/indices.ts'
import type { Tensor } from '../tensor/tensor.ts'
import type { Module } from './module.ts'

/**
 * The second argument of `forward`: options of one call. Sequential gives it to every layer. GPTModel gives it
 * to its blocks. TransformerBlock gives it to `attn`.
 *
 * - `returnWeights`: Attention also returns its weights
 * - `cache`: the tokens before, whose keys and values Attention then does not compute again
 * - `lastOnly`: GPTModel returns the logits of the last token only; not passed on
 */
export type Context = { returnWeights?: boolean; cache?: KeyValueCache; lastOnly?: boolean } & Record<
  string,
  unknown
>

/** What `forward` returns: a tensor, or an object of it and more where the context asks for more. */
export type Returned = Tensor | { output: Tensor }

/**
 * One call of `forward`, as a listener sees it. The tensors are valid during the listener's call only:
 * `clone` those that you keep.
 */
export interface ForwardEvent {
  /** the module's path in the one that is listened to, such as `trf_blocks.0.norm1`; '' for that one */
  name: string
  module: Module
  /** the first argument: a Tensor, or the integers that Embedding and GPTModel take */
  input: Indices
  output: Tensor
  /** an Attention's [..., nHeads, tokens, tokens], where the context has `returnWeights: true` */
  weights?: Tensor
}

export type ForwardListener = (event: ForwardEvent) => void

export const asObject = (returned: Returned): { output: Tensor } =>
  typeof returned === 'object' && returned !== null && 'output' in returned ? returned : { output: returned }

/** The output without the weights. */
export const outputOf = (returned: Returned): Tensor => asObject(returned).output
