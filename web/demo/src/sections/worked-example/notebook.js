// The numbers that the notebook prints. The page compares its numbers with these; it computes nothing from
// them.

/** The seed of cell 2. */
export const NOTEBOOK_SEED = 123

/**
 * How the source normalizes each tensor. The layer's outputs: by hand, cells 2 to 4. The batch: by the
 * LayerNorm class of cell 6, in cell 7. The whiteboard's row: in the lecture. The (5, 10, 3) tensor: by the
 * second notebook's class.
 *
 * @param {'notebook' | 'whiteboard' | 'rand'} data
 * @param {'outputs' | 'batch'} target
 * @returns {{ unbiased: boolean, eps: number }}
 */
export function notebookSettings(data, target) {
  if (data === 'whiteboard') return { unbiased: false, eps: 0 }
  if (data === 'rand') return { unbiased: false, eps: 1e-6 }
  return target === 'outputs' ? { unbiased: true, eps: 0 } : { unbiased: false, eps: 1e-5 }
}

/** The printed numbers to four decimals, by quantity. */
export const NOTEBOOK_PRINTED = {
  outputs: {
    out: [
      ['0.2260', '0.3470', '0.0000', '0.2216', '0.0000', '0.0000'],
      ['0.2133', '0.2394', '0.0000', '0.5198', '0.3297', '0.0000'],
    ],
    mean: [['0.1324'], ['0.2170']],
    variance: [['0.0231'], ['0.0398']],
    normalised: [
      ['0.6159', '1.4126', '-0.8719', '0.5872', '-0.8719', '-0.8719'],
      ['-0.0189', '0.1121', '-1.0876', '1.5173', '0.5647', '-1.0876'],
    ],
    // printed as 9.9341e-09 and 0.0000e+00
    normalisedMean: [['0.0000'], ['0.0000']],
    normalisedVariance: [['1.0000'], ['1.0000']],
  },
  batch: {
    normalisedMean: [['0.0000'], ['0.0000']],
    normalisedVariance: [['1.0000'], ['1.0000']],
  },
  // said in the lecture about the whiteboard's row
  whiteboard: {
    mean: [['2.1500']],
    normalisedMean: [['0.0000']],
    normalisedVariance: [['1.0000']],
  },
}
