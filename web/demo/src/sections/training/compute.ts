// Trains a small GPT with layer norms, and the same one without, to sort letters. Knows nothing of the page.

import {
  AdamW,
  crossEntropy,
  GPTModel,
  Identity,
  manualSeed,
  noGrad,
  rand,
  randn,
  ReLU,
  scope,
  type Tensor,
} from 'gpt-layers'

export interface Settings {
  blocks: number
  /** The learning rate. */
  rate: number
  /** `pytorch`: as the layers draw them. `gpt2`: N(0, 0.02) as GPT-2's, and biases of 0. */
  weights: 'pytorch' | 'gpt2'
  seed: number
}

/** Something of both networks: the one with layer norms, and the one without. */
export interface Pair<T> {
  with: T
  without: T
}

export const STEPS = 150
export const ALPHABET = 'abcdef'
export const LETTERS = 6 // of a row to sort
/** The row that both networks sort for the reader. */
export const QUESTION = 'ebfabc'
export const ANSWER = 'abbcef'

const BATCH = 16 // rows per step
const GPT2_DEVIATION = 0.02
const IGNORED = -100 // the target of a token whose logits do not count

/** One network and its optimizer. */
class Learner {
  readonly #model: GPTModel
  readonly #optimizer: AdamW
  #loss = NaN

  constructor({ blocks, rate, weights, seed }: Settings, norms: boolean) {
    manualSeed(seed) // both networks draw the same weights: a norm draws none
    this.#model = new GPTModel({
      vocabSize: ALPHABET.length,
      contextLength: 2 * LETTERS - 1,
      embDim: 48,
      nHeads: 3,
      nLayers: blocks,
    })
    if (weights === 'gpt2') this.#drawAsGPT2()
    if (!norms) this.#removeNorms()
    this.#optimizer = new AdamW(this.#model.parameters(), { lr: rate })
  }

  /**
   * GPT-2's weights: N(0, 0.02), and biases of 0. The layers whose outputs are added to the shortcut draw from
   * N(0, 0.02 / √(2 · blocks)).
   */
  #drawAsGPT2() {
    const model = this.#model
    const draw = ({ weight, bias }: { weight: Tensor; bias?: Tensor | null }, sums = 1) =>
      scope(() => {
        bias?.data.fill(0)
        const drawn = randn(weight.shape).mul(GPT2_DEVIATION / Math.sqrt(sums)) // it may move weight.data
        weight.data.set(drawn.data)
      })
    const sums = 2 * model.trfBlocks.length
    draw(model.tokEmb)
    draw(model.posEmb)
    for (const { attn, ff } of model.trfBlocks) {
      const [first, , last] = ff.layers
      draw(attn.cAttn)
      draw(attn.cProj, sums)
      draw(first)
      draw(last, sums)
    }
    draw(model.outHead)
  }

  #removeNorms() {
    this.#model.finalNorm = new Identity()
    for (const block of this.#model.trfBlocks) {
      block.norm1 = new Identity()
      block.norm2 = new Identity()
    }
  }

  /** One step of AdamW. After a loss that is not finite it does nothing. @returns the loss before the step */
  step(ids: number[][], targets: number[][]): number {
    if (this.#loss === Infinity) return this.#loss
    scope(() => {
      this.#optimizer.zeroGrad()
      const loss = crossEntropy(this.#model.forward(ids), targets)
      this.#loss = Number.isFinite(loss.item()) ? loss.item() : Infinity
      if (this.#loss === Infinity) return
      loss.backward()
      this.#optimizer.step()
    })
    return this.#loss
  }

  /** The likeliest letters after QUESTION, one at a time. */
  answer(): string {
    if (this.#loss === Infinity) return ''
    const ids = Array.from(QUESTION, (letter) => ALPHABET.indexOf(letter))
    const letters = this.#model.eval().generate(ids, { maxNewTokens: LETTERS, temperature: 0 })
    const answer = Array.from(letters, ({ token }) => ALPHABET[token]).join('')
    this.#model.train()
    return answer
  }

  dispose() {
    this.#optimizer.dispose()
    this.#model.dispose()
  }
}

/** Both networks. They begin with the same weights and learn from the same rows. */
export class Training {
  readonly #learners: Pair<Learner>

  constructor(settings: Settings) {
    this.#learners = { with: new Learner(settings, true), without: new Learner(settings, false) }
  }

  #each<T>(of: (learner: Learner) => T): Pair<T> {
    return { with: of(this.#learners.with), without: of(this.#learners.without) }
  }

  /**
   * Draws new rows. The input is a row and its sorted letters but the last: "ebfabc" + "abbce". The targets are
   * the sorted letters, from the row's last letter on.
   */
  step(): Pair<number> {
    const drawn = scope(() => rand([BATCH, LETTERS]).data.slice())
    const rows = Array.from({ length: BATCH }, (_, i) =>
      Array.from(drawn.subarray(i * LETTERS, (i + 1) * LETTERS), (u) => Math.floor(u * ALPHABET.length)),
    )
    const sorted = rows.map((row) => row.toSorted((a, b) => a - b))
    const ids = rows.map((row, i) => [...row, ...sorted[i].slice(0, -1)])
    const targets = sorted.map((row) => [...Array<number>(LETTERS - 1).fill(IGNORED), ...row])
    return this.#each((learner) => learner.step(ids, targets))
  }

  answers(): Pair<string> {
    return this.#each((learner) => learner.answer())
  }

  dispose() {
    this.#each((learner) => learner.dispose())
  }
}

/** Layers of Linear and ReLU, without shortcuts and norms. */
export const STACK = { width: 64, layers: [1, 2, 4, 8], small: 0.58, large: 2 }

/**
 * What the layers' weights, drawn from N(0, gain² / width), make of numbers from N(0, 1).
 *
 * @returns for each of STACK.layers the numbers that its Linear puts out, and their deviation
 */
export function stack(gain: number): { values: number[]; deviation: number }[] {
  const { width, layers } = STACK
  return noGrad(() =>
    scope(() => {
      manualSeed(123)
      const relu = new ReLU()
      let x = randn([1, width])
      const found: ReturnType<typeof stack> = []
      for (let layer = 1; layer <= Math.max(...layers); layer++) {
        const y = x.matmul(randn([width, width]).mul(gain / Math.sqrt(width)))
        if (layers.includes(layer))
          found.push({ values: Array.from(y.data), deviation: Math.sqrt(y.var({ unbiased: false }).item()) })
        x = relu.forward(y)
      }
      return found
    }),
  )
}
