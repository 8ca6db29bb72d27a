// What the γ of one feature does to the next word. Uses only the package.

import { type GPTModel, type LayerNorm, type Tensor, noGrad, scope, Softmax } from 'gpt-layers'

/** Of the final norm, counted from 0: the feature with the model's largest γ. */
export const FEATURE = 76
export const TEXT = 'One day there lived a penguin. The penguin was named Ines.'

/**
 * @param ids of the text
 * @param scale of the feature in the final norm; by default the learned one
 * @returns the final norm's row for the text's last token, and the probability of each word to come next
 */
export function nextWord(model: GPTModel, ids: number[], scale?: number) {
  const norm = model.finalNorm as LayerNorm & { scale: Tensor }
  const learned = norm.scale.data[FEATURE]
  let row: number[] = []
  const stop = model.onForward(({ module, output }) => {
    if (module === norm) row = Array.from(output.data)
  })
  norm.scale.data[FEATURE] = scale ?? learned
  try {
    const words = noGrad(() =>
      scope(() => {
        const logits = model.forward(ids, { lastOnly: true })
        return Array.from(new Softmax().forward(logits).data)
      }),
    )
    return { row, words }
  } finally {
    norm.scale.data[FEATURE] = learned
    stop()
  }
}

export type Next = ReturnType<typeof nextWord>

/**
 * How far one word's score is above another's. The feature adds to it in proportion to its γ.
 *
 * @param none with γ = 0
 * @param one with γ = 1
 * @returns slope: what the feature adds for γ = 1; rest: what everything else adds, with the feature's own β
 */
export function leadOf(none: Next, one: Next, [word, other]: readonly [number, number]) {
  const [rest, sum] = [none, one].map(({ words }) => Math.log(words[word] / words[other]))
  return { slope: sum - rest, rest }
}
