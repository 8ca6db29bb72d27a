// The numbers of the page's example. Sections begin with them.

import type { Gpt } from 'gpt-layers'

const SEED = 123
const INPUTS = 5
const OUTPUTS = 6

/**
 * The example's outputs: a batch of two samples through Linear(5, 6) and ReLU, as PyTorch draws them with
 * seed 123.
 *
 * @returns [2][6]
 */
export function exampleOutputs(gpt: Gpt): number[][] {
  return gpt.scope(() => {
    gpt.manualSeed(SEED)
    const batch = gpt.randn([2, INPUTS])
    const layer = new gpt.Sequential(new gpt.Linear(INPUTS, OUTPUTS), new gpt.ReLU())
    const outputs = gpt.noGrad(() => layer.forward(batch))
    return outputs.toArray() as number[][]
  })
}
