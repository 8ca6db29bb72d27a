import { checkOptions, oneOf } from '../check.ts'
import { map } from './elementwise.ts'
import { operation } from './operation.ts'
import type { Tensor } from './tensor.ts'

/** gpt_gelu_kind of c/gpt_layers.h, by PyTorch's names. */
export const GELU_KINDS = { tanh: 0, none: 1 }

export const GELU_OPTIONS = { approximate: oneOf('tanh', 'none') }

export interface GELUOptions {
  /**
   * 'tanh', the default, is GPT-2's and the notebook's 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))); 'none'
   * is the exact 0.5·x·(1 + erf(x/√2)), PyTorch's default
   */
  approximate?: 'tanh' | 'none'
}

/** x · Φ(x) of each element, as torch's F.gelu and the layer GELU; by default the tanh form. */
export const gelu = /* @__PURE__ */ operation((x: Tensor, options?: GELUOptions): Tensor => {
  const { approximate } = checkOptions<Required<GELUOptions>>(options, { approximate: 'tanh' }, GELU_OPTIONS)
  return geluOf(x, approximate)
})

export const geluOf = (x: Tensor, approximate: keyof typeof GELU_KINDS): Tensor =>
  map(x, 'gpt_gelu_forward', { kernel: 'gpt_gelu_backward', cost: 1.1 }, GELU_KINDS[approximate])
