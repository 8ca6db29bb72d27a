// The random generator: MT19937, with PyTorch's draws from it on the CPU.

import type { Memory } from './memory.ts'
import { type Pointer, exports, heap, run } from './runtime.ts'

type Target = Pointer & { readonly size: number }

/** Where the generator's state is in the heap. Until it is seeded, its seed is random. */
let generator: (Pointer & { memory: Memory }) | null = null

function state(): Pointer {
  const memory = heap()
  if (generator?.memory === memory) return generator
  generator = { memory, byteOffset: memory.allocate(exports.gpt_random_size()) }
  // Not node:crypto: Node takes 1.7 ms to load it, half as long as the rest of load().
  seed(Math.floor(Math.random() * 2 ** 32))
  return generator
}

export function seed(n: number): void {
  run('gpt_random_seed', [state(), n])
}

/** Fills a tensor from N(mean, std), as PyTorch's Tensor.normal_. */
export function normal(y: Target, std: number = 1, mean: number = 0): void {
  run('gpt_random_normal', [y, state(), y.size, mean, std])
}

/** Fills a tensor from U[low, high), as PyTorch's Tensor.uniform_. */
export function uniform(y: Target, low: number = 0, high: number = 1): void {
  run('gpt_random_uniform', [y, state(), y.size, low, high])
}

/**
 * Fills the weight, then the bias, as PyTorch's nn.Linear does: both from U(-1/√inputs, 1/√inputs).
 *
 * @param weight [outputs, inputs]
 * @param bias [outputs]
 */
export function linear(weight: Pointer, bias: Pointer | null, inputs: number, outputs: number): void {
  run('gpt_linear_init', [weight, bias, state(), inputs, outputs])
}

/** Fills memory with words of 32 random bits, read as int32. */
export function words(y: Target): void {
  run('gpt_random_words', [y, state(), y.size])
}

/** 32 random bits, the seed of a dropout mask. */
export function word(): number {
  const { numbers } = heap()
  run('gpt_random_words', [{ byteOffset: numbers }, state(), 1])
  return heap().words(numbers, 1)[0] >>> 0
}
