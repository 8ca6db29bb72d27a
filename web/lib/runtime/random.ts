import type { Pointer, Runtime } from './runtime.ts'

/** A tensor to be filled. */
type Target = Pointer & { readonly size: number }

/**
 * The random generator of one instance: MT19937, with PyTorch's draws from it on the CPU. Its state lies in
 * the heap. Until it is seeded it starts from a random seed, as PyTorch's does.
 */
export class Generator {
  #runtime: Runtime
  #state: Pointer
  /** where `word` has a word written */
  #word: Pointer

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.#state = { byteOffset: runtime.memory.allocate(runtime.exports.gpt_random_size()) }
    this.#word = { byteOffset: runtime.memory.allocate(4) }
    // Not node:crypto: Node takes 1.7 ms to load it, half as long as the rest of load().
    this.seed(Math.floor(Math.random() * 2 ** 32))
  }

  /** @param n only the low 32 bits count, as in PyTorch */
  seed(n: number): void {
    this.#runtime.run('gpt_random_seed', [this.#state, n])
  }

  /**
   * Fills a tensor from N(0, std), as PyTorch's Tensor.normal_.
   *
   * @param std standard deviation
   */
  normal(y: Target, std: number = 1): void {
    this.#runtime.run('gpt_random_normal', [y, this.#state, y.size, std])
  }

  /** Fills a tensor from U[0, 1), as PyTorch's Tensor.uniform_. */
  uniform(y: Target): void {
    this.#runtime.run('gpt_random_uniform', [y, this.#state, y.size, 0, 1])
  }

  /**
   * Fills the weight, then the bias, as PyTorch's nn.Linear does: both from U(-1/√inputs, 1/√inputs).
   *
   * @param weight [outputs, inputs]
   * @param bias [outputs]
   */
  linear(weight: Pointer, bias: Pointer | null, inputs: number, outputs: number): void {
    this.#runtime.run('gpt_linear_init', [weight, bias, this.#state, inputs, outputs])
  }

  /** 32 random bits, the seed of a dropout mask. */
  word(): number {
    this.#runtime.run('gpt_random_words', [this.#word, this.#state, 1])
    return this.#runtime.memory.words(this.#word.byteOffset, 1)[0] >>> 0
  }
}
