// Writes a text with a GPTModel, a word at a time, and watches each of its layer norms. When norms are
// switched off, a second run without them writes in step with the first, from the same random numbers.
// It knows nothing of the page.

import {
  GptLayersError,
  type GPTModel,
  Identity,
  type KeyValueCache,
  LayerNorm,
  manualSeed,
  Module,
  rand,
  RMSNorm,
  scope,
  type Tensor,
  tensor,
} from 'gpt-layers'
import { float16, layerNorm } from '../float16.ts'
import type { Tokenizer } from '../words.ts'

const OVER_LAST = { dim: -1, keepdim: true } as const

/** A norm of the model. */
type Norm = LayerNorm & { scale: Tensor }

/** What may stand in the place of a norm that is off. Its name on the page is in norms.ts. */
const REPLACEMENTS = {
  /** y = x */
  nothing: () => new Identity(),
  /** y = x - mean */
  mean: () => new Made((x) => x.sub(x.mean(OVER_LAST))),
  /** y = gamma · x / √(mean(x²) + eps) + beta: RMSNorm, with the norm's shift */
  rms: ({ embDim, eps, scale, shift }) => {
    const rms = Object.assign(new RMSNorm(embDim, { eps }), { scale })
    return new Made((x) => rms.forward(x).add(shift ?? 0))
  },
  /** the norm with gamma = 1 and beta = 0 */
  plain: ({ embDim, eps }) => new LayerNorm(embDim, { eps }),
  /** the norm of factor · x, computed in float16 */
  half: ({ embDim, eps, scale, shift }, factor) =>
    new Made((x) => {
      const parameters = { scale: scale.data, shift: shift?.data ?? new Float32Array(embDim), eps }
      const y = new Float32Array(x.size)
      for (let at = 0; at < y.length; at += embDim) {
        const row = Array.from(x.data.subarray(at, at + embDim), (value) => value * factor())
        y.set(layerNorm(float16, row, parameters).y, at)
      }
      return tensor(y, x.shape)
    }),
} satisfies Record<string, (norm: Norm, factor: () => number) => Module>

export type Replacement = keyof typeof REPLACEMENTS

/** A layer without parameters. */
class Made extends Module {
  readonly #compute: (x: Tensor) => Tensor

  constructor(compute: (x: Tensor) => Tensor) {
    super()
    this.#compute = compute
  }

  override forward(x: Tensor): Tensor {
    return this.#compute(x)
  }
}

/** What determines a text, and all numbers that are shown of it. */
export interface Settings {
  prompt: string
  seed: number
  temperature: number
  /** For each norm, in the order of the model, whether it is off. */
  off: readonly boolean[]
  replacement: Replacement
  /** `half` first multiplies its rows by this; 1 by default. */
  factor?: number
  /** How many words after the prompt both runs share. */
  from: number
}

/** What there is to see at one token of a run. */
export interface Step {
  /** The token's place in the text. */
  at: number
  /** The token's row before and after each norm: [norms, 2, width]. */
  rows: Float32Array
  /** Mean and variance before, mean and variance after: [norms, 4]. */
  stats: Float32Array
  /** The token that follows; null at the end. */
  next: number | null
}

/** A run: a text, the keys and values of its tokens, and the norms that it is written with. */
class Run {
  readonly cache: KeyValueCache
  /** The start token, the prompt and what was written. */
  ids: number[] = []
  step: Step | null = null
  /** Why it can write no more; null while it can. */
  ended: 'end' | 'full' | 'overflow' | null = null

  constructor(cache: KeyValueCache) {
    this.cache = cache
  }

  get at() {
    return this.step?.at ?? -1
  }
}

/** What an engine writes with. */
export interface EngineParts {
  /** in evaluation mode */
  model: GPTModel
  tokenizer: Tokenizer
}

export class Engine {
  #model: GPTModel
  #tokenizer: Tokenizer
  /** Where the model has its norms. */
  #slots: readonly [object, string][]
  /** For each norm: itself, and what may stand in its place. */
  #choices: readonly Record<string, Module>[]
  /** Before and after each norm, for the last token of the last forward. */
  #rows: Float32Array
  #settings: Settings
  #promptLength = 0
  /** The run with all norms. */
  with: Run
  /** The run without the norms that are off, if any are. */
  without: Run | null = null

  constructor({ model, tokenizer }: EngineParts) {
    this.#model = model
    this.#tokenizer = tokenizer
    const blocks = model.trfBlocks
    this.#slots = [
      ...blocks.flatMap((block): [object, string][] => [
        [block, 'norm1'],
        [block, 'norm2'],
      ]),
      [model, 'finalNorm'],
    ]
    const width = model.embDim
    this.#rows = new Float32Array(this.#slots.length * 2 * width)
    this.#choices = this.#slots.map(([parent, name], i) => {
      const norm: Norm = Reflect.get(parent, name)
      const replacements = Object.entries(REPLACEMENTS).map(([key, layerFor]) => [
        key,
        layerFor(norm, () => this.#settings.factor ?? 1).eval(),
      ])
      const choices: Record<string, Module> = { norm, ...Object.fromEntries(replacements) }
      for (const layer of Object.values(choices))
        layer.onForward(({ input, output }) => {
          const last = (x: Tensor) => x.data.subarray(x.size - width)
          this.#rows.set(last(input as Tensor), 2 * i * width)
          this.#rows.set(last(output), (2 * i + 1) * width)
        })
      return choices
    })
    this.#settings = { prompt: '', seed: 0, temperature: 1, off: [], replacement: 'nothing', from: 0 }
    this.with = new Run(this.#newCache())
  }

  get settings() {
    return this.#settings
  }

  /** How many tokens were given: the start token and the prompt. */
  get promptLength() {
    return this.#promptLength
  }

  /** Whether nothing is left to write. */
  get ended() {
    return this.with.ended !== null && (this.without === null || this.without.ended !== null)
  }

  /** @returns the text of each token; joined they are the run's text */
  texts({ ids }: Run): string[] {
    return ['', ...this.#tokenizer.texts(ids.slice(1))]
  }

  /**
   * Goes to where the settings say: to the end of the prompt, or `from` words further.
   *
   * @throws {Error} for a prompt with an unknown word, or one that is too long
   */
  set(settings: Settings) {
    const before = this.#settings
    const fresh =
      settings.prompt !== before.prompt || settings.seed !== before.seed || this.#promptLength === 0
    if (fresh) {
      const { start, encode } = this.#tokenizer
      const ids = [start, ...encode(settings.prompt)]
      this.#promptLength = ids.length
      this.with.ids = ids
      this.with.cache.truncate(0)
      this.with.step = null
    }
    this.#settings = settings
    const at = fresh ? this.#promptLength - 1 : this.with.at
    if (settings.off.includes(true)) {
      const same =
        !fresh &&
        this.without !== null &&
        settings.replacement === before.replacement &&
        settings.factor === before.factor &&
        settings.from === before.from &&
        settings.off.join() === before.off.join()
      if (same) this.goTo(at)
      else this.#fork()
    } else {
      this.without?.cache.dispose()
      this.without = null
      this.goTo(at)
    }
  }

  /** Begins the run without the norms that are off, after the words that both share. */
  #fork() {
    const at = this.#promptLength - 1 + this.#settings.from
    this.#go(this.with, Math.min(at, this.with.ids.length - 1))
    while (this.with.at < at && this.with.ended === null) this.#next(this.with)
    this.without ??= new Run(this.#newCache())
    const { without } = this
    without.ids = this.with.ids.slice(0, this.with.at + 1)
    without.cache.truncate(0)
    this.#go(without, this.with.at)
  }

  /** Both write a token more. */
  step() {
    for (const run of this.#runs()) if (run.ended === null) this.#next(run)
  }

  /** Goes to a token of the text, back or forth. */
  goTo(at: number) {
    for (const run of this.#runs()) this.#go(run, Math.min(Math.max(at, 0), run.ids.length - 1))
  }

  #runs() {
    return this.without === null ? [this.with] : [this.with, this.without]
  }

  #newCache() {
    return this.#model.newCache({ maxTokens: this.#model.contextLength })
  }

  /** Writes a token more, or goes to the next one that was written before. */
  #next(run: Run) {
    const next = run.step?.next ?? null
    if (next === null) return
    const at = run.at + 1
    if (run.ids[at] !== next) run.ids = [...run.ids.slice(0, at), next]
    this.#go(run, at)
  }

  /** Computes what there is to see at a token. */
  #go(run: Run, at: number) {
    const { cache, ids } = run
    const { seed, temperature } = this.#settings
    cache.truncate(Math.min(at, cache.length))
    const drawn = Math.max(0, at + 1 - this.#promptLength) // so many tokens were drawn before
    const generated = this.#withNormsOf(run, () => {
      // The random number that `generate` would draw for this token, had it written all of the text.
      manualSeed(seed)
      if (drawn > 0) rand([drawn]).dispose()
      try {
        const options = { cache, maxNewTokens: 1, temperature }
        return this.#model.generate(ids.slice(cache.length, at + 1), options).next().value
      } catch (error) {
        if (error instanceof GptLayersError && error.code === 'VALUE') return undefined // the logits overflowed
        throw error
      }
    })
    const prompted = at + 1 < this.#promptLength ? ids[at + 1] : undefined
    const next = prompted ?? generated?.token ?? null
    if (next === null) run.ended = 'overflow'
    else if (prompted === undefined && next === this.#tokenizer.stop) run.ended = 'end'
    else run.ended = at + 1 < this.#model.contextLength ? null : 'full'
    run.step = { at, next: run.ended ? null : next, ...this.#look() }
  }

  /** The rows and stats of the last forward. */
  #look(): Pick<Step, 'rows' | 'stats'> {
    const norms = this.#slots.length
    const stats = scope(() => {
      const x = tensor(this.#rows, [norms, 2, this.#model.embDim])
      const [mean, variance] = [x.mean({ dim: -1 }), x.var({ dim: -1, unbiased: false })]
      return Float32Array.from({ length: 4 * norms }, (_, i) => (i % 2 ? variance : mean).data[i >> 1])
    })
    return { rows: this.#rows.slice(), stats }
  }

  #withNormsOf<T>(run: Run, compute: () => T): T {
    if (run !== this.without) return compute()
    const { off, replacement } = this.#settings
    const put = (choose: (i: number) => string) =>
      this.#slots.forEach(([parent, name], i) => Reflect.set(parent, name, this.#choices[i][choose(i)]))
    put((i) => (off[i] ? replacement : 'norm'))
    try {
      return compute()
    } finally {
      put(() => 'norm')
    }
  }
}
