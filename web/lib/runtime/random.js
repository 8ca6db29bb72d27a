/** @import { Runtime } from './runtime.js' */

/**
 * The random stream of one instance: PyTorch's generator on the CPU (MT19937), whose state lies in the heap.
 * Until it is seeded it starts anywhere, as PyTorch's does.
 */
export class Generator {
  /** @type {Runtime} */ #runtime
  /** @type {number} */ #size
  /** @type {number} */ #state
  /** @type {number} where `word` has one written */ #word

  /** @param {Runtime} runtime */
  constructor(runtime) {
    this.#runtime = runtime
    this.#size = runtime.exports.gpt_random_size()
    this.#state = runtime.memory.allocate('load', this.#size)
    this.#word = runtime.memory.allocate('load', 4)
    // not by crypto, which Node takes 1.7 ms to load: half as long as all else that load() does
    this.seed(Math.floor(Math.random() * 2 ** 32))
  }

  /** @param {number} n of which the low 32 bits count, as in PyTorch */
  seed(n) {
    this.#runtime.call('gpt_random_seed', this.#state, n)
  }

  /**
   * @param {number} offset of `n` floats to be drawn from N(0, std)
   * @param {number} n
   * @param {number} [std] the deviation
   */
  normal(offset, n, std = 1) {
    this.#runtime.call('gpt_random_normal', offset, this.#state, n, std)
  }

  /**
   * @param {number} offset of `n` floats to be drawn from U(0, 1)
   * @param {number} n
   */
  uniform(offset, n) {
    this.#runtime.call('gpt_random_uniform', offset, this.#state, n, 0, 1)
  }

  /**
   * nn.Linear's default initialisation.
   *
   * @param {number} weight offset
   * @param {number} bias offset, 0 for none
   * @param {number} inFeatures
   * @param {number} outFeatures
   */
  linear(weight, bias, inFeatures, outFeatures) {
    this.#runtime.call('gpt_linear_init', weight, bias, this.#state, inFeatures, outFeatures)
  }

  /** @returns {number} 32 bits, as a seed for what draws by itself */
  word() {
    this.#runtime.call('gpt_random_words', this.#word, this.#state, 1)
    return this.#runtime.memory.words(this.#word, 1)[0] >>> 0
  }

  /** @returns {Uint8Array} a copy of the state */
  save() {
    return this.#runtime.memory.bytes(this.#state, this.#size).slice()
  }

  /** @param {Uint8Array} saved */
  restore(saved) {
    this.#runtime.memory.bytes(this.#state, this.#size).set(saved)
  }
}
