// What each norm of a GPT gets and gives, for every token of a sentence. Uses only the package.

import { type GPTModel, LayerNorm, noGrad, scope, type Tensor } from 'gpt-layers'
import type { Order } from './slice.ts'

/** A row for each token, with its mean and variance. */
export type Rows = { rows: number[][]; mean: number[]; variance: number[] }
type Norm = { name: string; before: Rows; after: Rows }

/**
 * @param model in evaluation mode
 * @param ids the tokens
 * @param order 'pre': as the model is; 'post': the same layers, but each sum is normalized
 * @returns in the order in which the tokens pass them; `name` is the model's
 */
export function pass(model: GPTModel, ids: number[], order: Order): Norm[] {
  const norms: Norm[] = []
  const stop = model.onForward(({ name, module, input, output }) => {
    if (module instanceof LayerNorm)
      norms.push({ name, before: rowsOf(input as Tensor), after: rowsOf(output) })
  })
  try {
    const forward = () => void (order === 'pre' ? model.forward(ids) : postNorm(model, ids))
    noGrad(() => scope(forward))
  } finally {
    stop()
  }
  return norms
}

/** The blocks as in "Attention is all you need" (Vaswani et al., 2017). There is no final norm. */
function postNorm(model: GPTModel, ids: number[]) {
  let x = model.tokEmb.forward(ids).add(model.posEmb.forward(ids.map((_, position) => position)))
  for (const { attn, ff, norm1, norm2 } of model.trfBlocks) {
    x = norm1.forward(x.add(attn.forward(x) as Tensor))
    x = norm2.forward(x.add(ff.forward(x)))
  }
}

/** @param x [tokens, embDim] */
const rowsOf = (x: Tensor): Rows => ({
  rows: x.toArray() as number[][],
  mean: Array.from(x.mean({ dim: -1 }).data),
  variance: Array.from(x.var({ dim: -1, unbiased: false }).data),
})
