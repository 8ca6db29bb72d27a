// What PyTorch prints for the example, to four decimals. The page compares its numbers with these; it computes
// nothing from them.

const PRINTED = {
  outputs: [
    [0.226, 0.347, 0, 0.2216, 0, 0],
    [0.2133, 0.2394, 0, 0.5198, 0.3297, 0],
  ],
  mean: [0.1324, 0.217],
  variance: [0.0192, 0.0332],
  normalized: [
    [0.6745, 1.547, -0.9549, 0.6431, -0.9549, -0.9549],
    [-0.0207, 0.1228, -1.1913, 1.6619, 0.6186, -1.1913],
  ],
  normalizedMean: [0, 0],
  normalizedVariance: [0.9995, 0.9997],
}

/** @returns how many of the printed numbers are here, to four decimals */
export function agreeing(shown: { [Name in keyof typeof PRINTED]?: (number | number[])[] }): number {
  return Object.entries(shown).reduce((sum, [name, values]) => {
    const printed = PRINTED[name as keyof typeof PRINTED].flat()
    return sum + values.flat().filter((value, i) => Number(value.toFixed(4)) === printed[i]).length
  }, 0)
}
