// Writes a text with a GPTModel, a word at a time, and watches each of its layer norms. When norms are
// switched off, a second run without them writes in step with the first, from the same random numbers.
// It knows nothing of the page.

import {
  type GPTModel,
  Identity,
  type KeyValueCache,
  LayerNorm,
  manualSeed,
  type Module,
  rand,
  RMSNorm,
  scope,
  type Tensor,
  tensor,
} from 'gpt-layers'
import { float16, layerNorm } from '../float16.ts'
import type { Tokenizer } from '../words.ts'

/** How every text begins. */
const PROMPT = 'Once upon a time'

const OVER_LAST = { dim: -1, keepdim: true } as const

/** A norm of the model. */
type Norm = LayerNorm & { scale: Tensor }

/** A layer without parameters. */
const layerOf = (forward: (x: Tensor) => Tensor) => Object.assign(new Identity(), { forward })

/** What may stand in the place of a norm that is off. Its name on the page is in norms.ts. */
const REPLACEMENTS = {
  /** y = x */
  nothing: () => new Identity(),
  /** y = x - mean */
  mean: () => layerOf((x) => x.sub(x.mean(OVER_LAST))),
  /** y = gamma · x / √(mean(x²) + eps) + beta: RMSNorm, with the norm's shift */
  rms: ({ embDim, eps, scale, shift }) => {
    const rms = Object.assign(new RMSNorm(embDim, { eps }), { scale })
    return layerOf((x) => rms.forward(x).add(shift ?? 0))
  },
  /** the norm with gamma = 1 and beta = 0 */
  plain: ({ embDim, eps }) => new LayerNorm(embDim, { eps }),
  /** the norm of factor · x, computed in float16 */
  half: ({ embDim, eps, scale, shift }, factor) =>
    layerOf((x) => {
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

/** What determines a text, and all numbers that are shown of it. */
export interface Settings {
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

/** The rows before and after each norm at one token, and their statistics. */
export interface Step {
  /** The token's row before and after each norm: [norms, 2, width]. */
  rows: Float32Array
  /** Mean and variance before, mean and variance after: [norms, 4]. */
  stats: Float32Array
}

/** A run: a text, the keys and values of its tokens, and the norms that it is written with. */
class Run {
  readonly cache: KeyValueCache
  /** The start token, the prompt and what was written. */
  ids: number[] = []
  /** At the last token. */
  step: Step = { rows: new Float32Array(), stats: new Float32Array() }
  /** The token that follows. */
  next = 0
  /** Whether it can write no more: the token that follows ends the text, or the cache is full. */
  ended = false

  constructor(cache: KeyValueCache) {
    this.cache = cache
  }

  /** The place of the last token. */
  get at() {
    return this.ids.length - 1
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
  #settings: Settings = { seed: 0, temperature: 1, off: [], replacement: 'nothing', from: 0 }
  /** The start token and the prompt. */
  #prompt: number[]
  /** The run with all norms. */
  with: Run
  /** The run without the norms that are off, if any are. */
  without: Run | null = null

  constructor({ model, tokenizer }: EngineParts) {
    this.#model = model
    this.#tokenizer = tokenizer
    this.#prompt = [tokenizer.start, ...tokenizer.encode(PROMPT)]
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
    this.with = new Run(this.#newCache())
  }

  /** How many tokens were given: the start token and the prompt. */
  get promptLength() {
    return this.#prompt.length
  }

  /** Whether nothing is left to write. */
  get ended() {
    return this.with.ended && (this.without?.ended ?? true)
  }

  /** The texts and norms that the page shows. `texts` has one text a token; that of the start token is ''. */
  report() {
    const reportOf = ({ ids, at, ended, step }: Run) => {
      return { texts: ['', ...this.#tokenizer.texts(ids.slice(1))], at, ended, step }
    }
    return {
      seed: this.#settings.seed,
      promptLength: this.promptLength,
      with: reportOf(this.with),
      without: this.without && reportOf(this.without),
    }
  }

  /** Goes to where the settings say: to the end of the prompt, or `from` words further. */
  set(settings: Settings) {
    const before = this.#settings
    const fresh = this.with.at < 0 || settings.seed !== before.seed
    const same =
      !fresh &&
      settings.replacement === before.replacement &&
      settings.factor === before.factor &&
      settings.from === before.from &&
      settings.off.join() === before.off.join()
    this.#settings = settings
    if (fresh) this.#begin(this.with, this.#prompt)
    if (!settings.off.includes(true)) {
      this.without?.cache.dispose()
      this.without = null
    } else if (!same) this.#fork()
  }

  /** Begins the text of the next seed. */
  next() {
    this.set({ ...this.#settings, seed: (this.#settings.seed + 1) % 2 ** 32, from: 0 })
  }

  /** Begins the run without the norms that are off, after the words that both share. */
  #fork() {
    const shared = this.promptLength + this.#settings.from
    const { ids } = this.with
    if (ids.length > shared) this.#begin(this.with, ids.slice(0, shared))
    while (this.with.ids.length < shared && !this.with.ended) this.#write(this.with)
    this.without ??= new Run(this.#newCache())
    this.#begin(this.without, this.with.ids)
  }

  /** Both write a token more. */
  step() {
    for (const run of [this.with, this.without]) if (run && !run.ended) this.#write(run)
  }

  #newCache() {
    return this.#model.newCache({ maxTokens: this.#model.contextLength })
  }

  /** Gives a run another text. */
  #begin(run: Run, ids: number[]) {
    run.cache.truncate(0)
    run.ids = ids
    this.#compute(run)
  }

  #write(run: Run) {
    run.ids = [...run.ids, run.next]
    this.#compute(run)
  }

  /** Computes a run's next token, and the rows and statistics at its last one. */
  #compute(run: Run) {
    const { cache, ids } = run
    const { seed, temperature } = this.#settings
    const drawn = ids.length - this.promptLength // the number of tokens that were drawn before
    run.next = this.#withNormsOf(run, () => {
      // The random number that `generate` would draw for this token, had it written all of the text.
      manualSeed(seed)
      if (drawn > 0) rand([drawn]).dispose()
      const options = { cache, maxNewTokens: 1, temperature }
      const [{ token }] = this.#model.generate(ids.slice(cache.length), options)
      return token
    })
    run.ended = run.next === this.#tokenizer.stop || ids.length === this.#model.contextLength
    run.step = this.#look()
  }

  /** The rows and stats of the last forward. */
  #look(): Step {
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
