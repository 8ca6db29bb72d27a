// The section’s settings: the stack.

import { choice, integer, number, seed, slice } from '../../fields.ts'

export const DEPTH = { min: 2, max: 50 }
export const GAIN = { min: 0.2, max: 3 }
export const ACTIVATIONS = { relu: 'ReLU', gelu: 'GELU', none: 'none' }

/** The weights' deviation times √n: about 1/√3 in PyTorch's Linear; √2 before a ReLU by He et al. 2015. */
export const PYTORCH_GAIN = 0.58
export const HE_GAIN = 1.41
/** GPT-2 draws its weights with the deviation 0.02. Its layers have 768 inputs. */
export const GPT2_GAIN = 0.55

export default slice({
  depth: integer(30, DEPTH),
  gain: number(PYTORCH_GAIN, GAIN),
  activation: choice('relu', ['relu', 'gelu', 'none']),
  seed: seed(123),
})
