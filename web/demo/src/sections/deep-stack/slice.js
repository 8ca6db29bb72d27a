// The section’s settings: the stack; as views, the watched layer and the speed.

import { choice, integer, number, slice } from '../../fields.js'

export const DEPTH = { min: 2, max: 50 }
export const GAIN = { min: 0.2, max: 4 }
export const SEED = { min: 0, max: 2 ** 32 - 1 }
export const ACTIVATIONS = { relu: 'ReLU', gelu: 'GELU', none: 'no activation' }
/** Steps a second; 0 is as many as there can be. */
export const SPEEDS = { slow: 4, medium: 25, fast: 0 }

/**
 * The weights' deviation times √n: about 1/√3 in PyTorch's Linear; √2 before a ReLU by He et al. 2015.
 */
export const PYTORCH_GAIN = 0.58
export const HE_GAIN = 1.41

export default slice(
  {
    depth: integer(30, DEPTH),
    gain: number(PYTORCH_GAIN, GAIN),
    activation: choice('relu', ['relu', 'gelu', 'none']),
    seed: integer(123, SEED),
    layer: integer(15, { min: 1, max: DEPTH.max }),
    speed: choice('fast', ['slow', 'medium', 'fast']),
  },
  { views: ['layer', 'speed'] },
)
