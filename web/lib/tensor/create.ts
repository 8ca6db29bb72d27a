// Makes tensors.

import type { NumberArray } from '../typed.ts'
import type { NestedArray } from './nested.ts'
import { checkNumber, checkShape, named } from '../check.ts'
import * as random from '../runtime/random.ts'
import { Tensor } from './tensor.ts'

/**
 * Seeds the generator, as torch.manual_seed: `randn`, `rand` and new layers then draw the numbers that PyTorch
 * draws on the CPU.
 *
 * @param n an integer; only the low 32 bits count, as in PyTorch
 * @example
 * gpt.manualSeed(123)
 * String(gpt.randn([2])) // 'tensor([-0.1115,  0.1204])'
 */
export function manualSeed(n: number): void {
  named('manualSeed', arguments, 1, () => {
    checkNumber('n', n, 'a safe integer', Number.isSafeInteger)
    random.seed(n)
  })
}

/** A tensor drawn from N(0, 1), as torch.randn: the same bits that PyTorch draws on an x86 CPU with AVX2. */
export function randn(shape: readonly number[]): Tensor {
  return named('randn', arguments, 1, () => {
    const tensor = Tensor.empty(checkShape(shape))
    random.normal(tensor)
    return tensor
  })
}

/** A tensor drawn from U[0, 1), as torch.rand: the same bits that PyTorch draws on the CPU. */
export function rand(shape: readonly number[]): Tensor {
  return named('rand', arguments, 1, () => {
    const tensor = Tensor.empty(checkShape(shape))
    random.uniform(tensor)
    return tensor
  })
}

/**
 * A tensor of given values, rounded to float32.
 *
 * @param values a number, nested arrays, or a flat array or typed array with a shape
 * @param shape by default the shape of the nesting
 * @example gpt.tensor([[1, 2], [3, 4]])
 * @example gpt.tensor(new Float32Array(6), [2, 3])
 */
export function tensor(values: NestedArray | NumberArray, shape?: readonly number[]): Tensor {
  return named('tensor', arguments, 2, () => Tensor.from(values, shape))
}

/** A tensor of zeros. */
export function zeros(shape: readonly number[]): Tensor {
  return named('zeros', arguments, 1, () => Tensor.zeros(checkShape(shape)))
}

/** A tensor of ones. */
export function ones(shape: readonly number[]): Tensor {
  return named('ones', arguments, 1, () => {
    const tensor = Tensor.empty(checkShape(shape))
    tensor.data.fill(1)
    return tensor
  })
}
