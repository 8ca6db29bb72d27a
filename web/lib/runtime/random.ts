// The random generator: MT19937, with PyTorch's draws from it on the CPU.

import type { Memory } from './memory.ts'
import { type Pointer, exports, heap, run } from './runtime.ts'

type Target = Pointer & { readonly size: number }

/** The generator's state and a word for its answers, in the heap. Until it is seeded, its seed is random. */
let generator: { memory: Memory; state: Pointer; word: Pointer } | null = null

function current(): { state: Pointer; word: Pointer } {
  const memory = heap()
  if (generator?.memory === memory) return generator
  const state = { byteOffset: memory.allocate(exports.gpt_random_size()) }
  generator = { memory, state, word: { byteOffset: memory.allocate(4) } }
  // Not node:crypto: Node takes 1.7 ms to load it, half as long as the rest of load().
  seed(Math.floor(Math.random() * 2 ** 32))
  return generator
}

export function seed(n: number): void {
  run('gpt_random_seed', [current().state, n])
}

/**
 * Fills a tensor from N(mean, std), as PyTorch's Tensor.normal_.
 *
 * @param std standard deviation
 */
export function normal(y: Target, std: number = 1, mean: number = 0): void {
  run('gpt_random_normal', [y, current().state, y.size, mean, std])
}

/** Fills a tensor from U[low, high), as PyTorch's Tensor.uniform_. */
export function uniform(y: Target, low: number = 0, high: number = 1): void {
  run('gpt_random_uniform', [y, current().state, y.size, low, high])
}

/**
 * Fills the weight, then the bias, as PyTorch's nn.Linear does: both from U(-1/√inputs, 1/√inputs).
 *
 * @param weight [outputs, inputs]
 * @param bias [outputs]
 */
export function linear(weight: Pointer, bias: Pointer | null, inputs: number, outputs: number): void {
  run('gpt_linear_init', [weight, bias, current().state, inputs, outputs])
}

/** Fills memory with words of 32 random bits, read as int32. */
export function words(y: Target): void {
  run('gpt_random_words', [y, current().state, y.size])
}

/** 32 random bits, the seed of a dropout mask. */
export function word(): number {
  const { state, word } = current()
  run('gpt_random_words', [word, state, 1])
  return heap().words(word.byteOffset, 1)[0] >>> 0
}
