import type { Gpt, Tensor } from 'gpt-layers'
import type { Order } from './slice.ts'
// What each norm of a GPT gets and gives, for every token of a sentence. Uses only the package.

/** @import { Gpt, Tensor } from 'gpt-layers' */
/** @import { Order } from './slice.js' */

/** @typedef {InstanceType<Gpt['GPTModel']>} Model */
export type Model = InstanceType<Gpt['GPTModel']>
/** @typedef {{ rows: number[][], mean: number[], variance: number[] }} Rows a row for each token */
/** A row for each token */
export type Rows = { rows: number[][]; mean: number[]; variance: number[] }
/** @typedef {{ name: string, before: Rows, after: Rows }} Norm */
export type Norm = { name: string; before: Rows; after: Rows }

/**
 * @param {Gpt} gpt
 * @param {Model} model in evaluation mode
 * @param {number[]} ids the tokens
 * @param {Order} order 'pre': as the model is; 'post': the same layers, but each sum is normalized
 * @returns {Norm[]} in the order in which the tokens pass them; `name` is the model's
 */
export function pass(gpt: Gpt, model: Model, ids: number[], order: Order): Norm[] {
  /** @type {Norm[]} */ const norms: Norm[] = []
  const stop = model.onForward(({ name, module, input, output }) => {
    if (module instanceof gpt.LayerNorm)
      norms.push({ name, before: rowsOf(/** @type {Tensor} */ input as Tensor), after: rowsOf(output) })
  })
  try {
    const forward = () => void (order === 'pre' ? model.forward(ids) : postNorm(model, ids))
    gpt.noGrad(() => gpt.scope(forward))
  } finally {
    stop()
  }
  return norms
}

/**
 * The blocks as in "Attention is all you need" (Vaswani et al., 2017). There is no final norm.
 *
 * @param {Model} model
 * @param {number[]} ids
 */
function postNorm(model: Model, ids: number[]) {
  let x = model.tokEmb.forward(ids).add(model.posEmb.forward(ids.map((_, position) => position)))
  for (const { attn, ff, norm1, norm2 } of model.trfBlocks) {
    x = norm1.forward(x.add(/** @type {Tensor} */ attn.forward(x) as Tensor))
    x = norm2.forward(x.add(ff.forward(x)))
  }
}

/** @param {Tensor} x [tokens, embDim] @returns {Rows} */
const rowsOf = (x: Tensor): Rows => ({
  rows: /** @type {number[][]} */ x.toArray() as number[][],
  mean: Array.from(x.mean({ dim: -1 }).data),
  variance: Array.from(x.var({ dim: -1, unbiased: false }).data),
})
