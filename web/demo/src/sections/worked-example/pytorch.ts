// What PyTorch prints for the example, to four decimals. The page compares its numbers with these; it
// computes nothing from them.

/** The seed of the example. */
export const SEED = 123

/** The two ways to normalize: the divisor of the variance, and what is added to it. */
export const LAYER_NORM = { unbiased: false, eps: 1e-5 }
export const BY_HAND = { unbiased: true, eps: 0 }

const outputs = [
  ['0.2260', '0.3470', '0.0000', '0.2216', '0.0000', '0.0000'],
  ['0.2133', '0.2394', '0.0000', '0.5198', '0.3297', '0.0000'],
]

/** 32 numbers for each way. */
export const PRINTED = {
  layerNorm: {
    outputs,
    mean: ['0.1324', '0.2170'],
    variance: ['0.0192', '0.0332'],
    normalized: [
      ['0.6745', '1.5470', '-0.9549', '0.6431', '-0.9549', '-0.9549'],
      ['-0.0207', '0.1228', '-1.1913', '1.6619', '0.6186', '-1.1913'],
    ],
    normalizedMean: ['0.0000', '0.0000'],
    normalizedVariance: ['0.9995', '0.9997'],
  },
  byHand: {
    outputs,
    mean: ['0.1324', '0.2170'],
    variance: ['0.0231', '0.0398'],
    normalized: [
      ['0.6159', '1.4126', '-0.8719', '0.5872', '-0.8719', '-0.8719'],
      ['-0.0189', '0.1121', '-1.0876', '1.5173', '0.5647', '-1.0876'],
    ],
    normalizedMean: ['0.0000', '0.0000'],
    normalizedVariance: ['1.0000', '1.0000'],
  },
}
