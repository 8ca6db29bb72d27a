// Trains a small GPT with layer norms, and the same one without, to sort letters. Knows nothing of the page.

import { AdamW, crossEntropy, GPTModel, Identity, manualSeed, rand, scope } from 'gpt-layers'

export interface Settings {
  blocks: number
  /** The learning rate. */
  rate: number
}

/** Something of both networks: the one with layer norms, and the one without. */
export interface Pair<T> {
  with: T
  without: T
}

export const STEPS = 150
export const ALPHABET = 'abcdef'
const LETTERS = 6 // of a row to sort
/** The row that both networks sort for the reader. */
export const QUESTION = 'ebfabc'

const BATCH = 16 // rows per step
const SEED = 2
const IGNORED = -100 // the target of a token whose logits do not count

/** One network and its optimizer. */
class Learner {
  readonly #model: GPTModel
  readonly #optimizer: AdamW
  #loss = NaN

  constructor({ blocks, rate }: Settings, norms: boolean) {
    manualSeed(SEED) // both networks draw the same weights: a norm draws none
    this.#model = new GPTModel({
      vocabSize: ALPHABET.length,
      contextLength: 2 * LETTERS - 1,
      embDim: 48,
      nHeads: 3,
      nLayers: blocks,
    })
    if (!norms) this.#removeNorms()
    this.#optimizer = new AdamW(this.#model.parameters(), { lr: rate })
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
}
