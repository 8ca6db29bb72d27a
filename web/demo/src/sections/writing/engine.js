// Writes a text with any GPTModel, a word at a time, and watches each of its layer norms. When norms are
// switched off, a second run without them writes in step with the first, from the same random numbers.
// Uses only the package, and knows nothing of the page.

/** @import { GeneratedToken, Gpt, KeyValueCache, Module, Tensor } from 'gpt-layers' */
/** @import { Tokenizer } from '../../words.js' */

/** @typedef {InstanceType<Gpt['GPTModel']>} Model */

/**
 * What stands in the place of a norm that is off: y = x, y = x - mean, or the norm with gamma 1 and beta 0.
 *
 * @typedef {'nothing' | 'mean' | 'plain'} Instead
 */

/**
 * What determines a text, and so all numbers of this section.
 *
 * @typedef {object} Settings
 * @property {string} prompt
 * @property {number} seed
 * @property {number} temperature
 * @property {readonly boolean[]} off which norms, in the order of the model
 * @property {Instead} instead
 * @property {number} from how many words after the prompt both runs share
 */

/**
 * @typedef {object} Candidate
 * @property {number} token
 * @property {string} text '' for the end
 * @property {number} probability
 */

/**
 * What there is to see at one token of a run.
 *
 * @typedef {object} Moment
 * @property {number} at the token's place in the text
 * @property {Float32Array} rows the token's row at each norm, before it, normalized (gamma 1, beta 0), and
 *   after it: [norms, 3, width]
 * @property {Float32Array} stats mean and variance before, mean and variance after: [norms, 4]
 * @property {Candidate[]} top the most probable next tokens, and the one that follows
 * @property {number | null} next the token that follows; null at the end
 */

const TOP = 7
const MOST_TOKENS = 512 // of a text: GPT-2's cache takes 37 MB for so many

/** A run: a text, the keys and values of its tokens, and the norms that it is written with. */
class Run {
  /** The start token, the prompt and what was written. @type {number[]} */ ids = []
  /**
   * For each token that the run has been at the variance before each norm.
   *
   * @type {(Float32Array | undefined)[]}
   */
  trail = []
  /** @type {Moment | null} */ moment = null
  /** Why it can write no more; null while it can. @type {'end' | 'full' | 'overflow' | null} */ ended = null

  /** @param {KeyValueCache} cache */
  constructor(cache) {
    this.cache = cache
  }

  get at() {
    return this.moment?.at ?? -1
  }

  /** Forgets the tokens after a place. @param {number} at */
  cut(at) {
    this.ids = this.ids.slice(0, at + 1)
    this.trail = this.trail.slice(0, at + 1)
  }
}

export class Engine {
  /** @type {Gpt} */ #gpt
  /** @type {Model} */ #model
  /** @type {Tokenizer} */ #tokenizer
  /** @type {number | undefined} */ #topK
  /** Where the model has its norms. @type {readonly [object, string][]} */ #slots
  /** For each norm: itself, and what may stand in its place. @type {readonly Record<string, Module>[]} */
  #choices
  /** Before and after each norm, for the last token of the last forward. @type {Float32Array} */ #rows
  /** @type {Settings} */ #settings
  /** How many tokens were given: the start token and the prompt. */ #given = 0
  /** With all norms. @type {Run} */ with
  /** Without those that are off, if any are. @type {Run | null} */ without = null

  /**
   * @param {{ gpt: Gpt, model: Model, tokenizer: Tokenizer, topK?: number }} parts the model in evaluation
   *   mode; topK: only so many tokens can be drawn
   */
  constructor({ gpt, model, tokenizer, topK }) {
    this.#gpt = gpt
    this.#model = model
    this.#tokenizer = tokenizer
    this.#topK = topK
    const blocks = model.trfBlocks
    this.#slots = [
      ...blocks.flatMap(
        (block) =>
          /** @type {[object, string][]} */ ([
            [block, 'norm1'],
            [block, 'norm2'],
          ]),
      ),
      [model, 'finalNorm'],
    ]
    const width = model.embDim
    this.#rows = new Float32Array(this.#slots.length * 2 * width)
    class OnlyMean extends gpt.Module {
      /** @override @param {Tensor} x */
      forward(x) {
        return x.sub(x.mean({ dim: -1, keepdim: true }))
      }
    }
    this.#choices = this.#slots.map(([parent, name], i) => {
      const norm = Reflect.get(parent, name)
      const choices = {
        norm,
        nothing: new gpt.Identity().eval(),
        mean: new OnlyMean().eval(),
        plain: new gpt.LayerNorm(width, { eps: norm.eps }).eval(),
      }
      for (const layer of /** @type {Module[]} */ (Object.values(choices))) {
        layer.onForward(({ input, output }) => {
          const last = (/** @type {Tensor} */ x) => x.data.subarray(x.size - width)
          this.#rows.set(last(/** @type {Tensor} */ (input)), 2 * i * width)
          this.#rows.set(last(output), (2 * i + 1) * width)
        })
      }
      return choices
    })
    const off = this.#slots.map(() => false)
    this.#settings = { prompt: '', seed: 0, temperature: 1, off, instead: 'nothing', from: 0 }
    this.with = new Run(this.#newCache())
  }

  /** What the page needs to know of the model. */
  get model() {
    const { embDim, trfBlocks, contextLength } = this.#model
    return {
      width: embDim,
      blocks: trfBlocks.length,
      norms: this.#slots.length,
      heads: trfBlocks[0].attn.nHeads,
      tokens: Math.min(contextLength, MOST_TOKENS),
    }
  }

  get settings() {
    return this.#settings
  }

  /** How many tokens were given: the start token and the prompt. */
  get given() {
    return this.#given
  }

  /** Whether nothing is left to write. */
  get ended() {
    return this.with.ended !== null && (this.without === null || this.without.ended !== null)
  }

  /** @param {Run} run @returns {string[]} the text of each token; joined they are the run's text */
  texts({ ids }) {
    return ['', ...this.#tokenizer.texts(ids.slice(1))]
  }

  /**
   * Goes to where the settings say: to the end of the prompt, or `from` words further.
   *
   * @param {Settings} settings
   * @throws {Error} for a prompt with an unknown word, or one that is too long
   */
  set(settings) {
    const before = this.#settings
    const fresh = settings.prompt !== before.prompt || settings.seed !== before.seed || this.#given === 0
    if (fresh) {
      const ids = [this.#tokenizer.start, ...this.#tokenizer.encode(settings.prompt)]
      const most = this.model.tokens / 2
      if (ids.length > most) throw new Error(`The beginning should have at most ${most - 1} words.`)
      this.#given = ids.length
      this.with.ids = ids
      this.with.trail = []
      this.with.cache.truncate(0)
      this.with.moment = null
    }
    this.#settings = settings
    const warmer = settings.temperature !== before.temperature
    const at = fresh ? this.#given - 1 : this.with.at
    if (warmer && !fresh) for (const run of this.#runs()) run.cut(Math.max(run.at, this.#given - 1))
    if (settings.off.includes(true)) {
      const same =
        !fresh &&
        this.without !== null &&
        settings.instead === before.instead &&
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
    const at = this.#given - 1 + this.#settings.from
    this.#go(this.with, Math.min(at, this.with.ids.length - 1))
    while (this.with.at < at && this.with.ended === null) this.#next(this.with)
    this.without ??= new Run(this.#newCache())
    const { without } = this
    without.ids = this.with.ids.slice(0, this.with.at + 1)
    without.trail = this.with.trail.slice(0, this.with.at)
    without.cache.truncate(0)
    this.#go(without, this.with.at)
  }

  /** Both write a token more. */
  step() {
    for (const run of this.#runs()) if (run.ended === null) this.#next(run)
  }

  /** Goes to a token of the text, back or forth. @param {number} at */
  goTo(at) {
    for (const run of this.#runs()) this.#go(run, Math.min(Math.max(at, 0), run.ids.length - 1))
  }

  /**
   * @param {'with' | 'without'} which
   * @returns {Float32Array} how much of its attention the token that a run is at gives to each token up to
   *   itself: [blocks, heads, tokens]
   */
  attention(which) {
    const run = this[which] ?? this.with
    const ids = run.ids.slice(0, run.at + 1)
    /** @type {number[]} */
    const found = []
    const { trfBlocks } = this.#model
    const stops = trfBlocks.map(({ attn }) =>
      attn.onForward(({ weights }) => {
        if (!weights) return
        const [tokens] = weights.shape.slice(-1)
        const { data } = weights
        for (let end = tokens ** 2; end <= data.length; end += tokens ** 2)
          found.push(...data.subarray(end - tokens, end))
      }),
    )
    try {
      this.#withNormsOf(run, () =>
        this.#gpt.noGrad(() => this.#gpt.scope(() => void this.#model.forward(ids, { returnWeights: true }))),
      )
    } finally {
      for (const stop of stops) stop()
    }
    return Float32Array.from(found)
  }

  #runs() {
    return this.without === null ? [this.with] : [this.with, this.without]
  }

  #newCache() {
    return this.#model.newCache({ maxTokens: this.model.tokens })
  }

  /** Writes a token more, or goes to the next one that was written before. @param {Run} run */
  #next(run) {
    const next = run.moment?.next ?? null
    if (next === null) return
    const at = run.at + 1
    if (run.ids[at] !== next) {
      run.cut(at - 1)
      run.ids.push(next)
    }
    this.#go(run, at)
  }

  /** Computes what there is to see at a token. @param {Run} run @param {number} at */
  #go(run, at) {
    const { cache, ids } = run
    const { seed, temperature } = this.#settings
    cache.truncate(Math.min(at, cache.length))
    const drawn = Math.max(0, at + 1 - this.#given) // so many tokens were drawn before
    const generated = this.#withNormsOf(run, () => {
      // The random number that `generate` would draw for this token, had it written all of the text.
      this.#gpt.manualSeed(seed)
      if (drawn > 0) this.#gpt.rand([drawn]).dispose()
      try {
        const options = { cache, maxNewTokens: 1, temperature, ...(this.#topK && { topK: this.#topK }) }
        return this.#model.generate(ids.slice(cache.length, at + 1), options).next().value
      } catch (error) {
        const { code } = /** @type {{ code?: string }} */ (error)
        if (code === 'VALUE') return undefined // the logits overflowed
        throw error
      }
    })
    const given = at + 1 < this.#given ? ids[at + 1] : undefined
    const next = given ?? generated?.token ?? null
    if (next === null) run.ended = 'overflow'
    else if (given === undefined && next === this.#tokenizer.stop) run.ended = 'end'
    else run.ended = at + 2 < this.model.tokens ? null : 'full'
    run.moment = {
      at,
      next: run.ended ? null : next,
      ...this.#look(),
      top: this.#candidates(generated, next),
    }
    run.trail[at] = this.#variances(run.moment)
  }

  /** @param {Moment} moment @returns {Float32Array} before each norm */
  #variances({ stats }) {
    return stats.filter((_, i) => i % 4 === 1)
  }

  /**
   * @param {GeneratedToken | void} generated
   * @param {number | null} next
   * @returns {Candidate[]}
   */
  #candidates(generated, next) {
    if (!generated) return []
    const top = generated.top.slice(0, TOP)
    if (generated.token === next && !top.some(({ token }) => token === next))
      top.splice(TOP - 1, 1, { token: generated.token, probability: generated.probability })
    const { stop, decode } = this.#tokenizer
    return top.map(({ token, probability }) => {
      return { token, probability, text: token === stop ? '' : decode([token]) }
    })
  }

  /** @returns {Pick<Moment, 'rows' | 'stats'>} of the last forward */
  #look() {
    const gpt = this.#gpt
    const width = this.#model.embDim
    const norms = this.#slots.length
    const rows = new Float32Array(norms * 3 * width)
    const stats = new Float32Array(norms * 4)
    gpt.scope(() => {
      const x = gpt.tensor(this.#rows, [norms, 2, width])
      const mean = x.mean({ dim: -1 }).data
      const variance = x.var({ dim: -1, unbiased: false }).data
      const normalized = gpt.noGrad(() => this.#choices[0].plain.forward(x)).data
      // `plain` has a listener, which has written into this.#rows; x has its own copy.
      const { data } = x
      for (let i = 0; i < norms; i++) {
        const [before, after] = [2 * i * width, (2 * i + 1) * width]
        rows.set(data.subarray(before, before + width), 3 * i * width)
        rows.set(normalized.subarray(before, before + width), (3 * i + 1) * width)
        rows.set(data.subarray(after, after + width), (3 * i + 2) * width)
        stats.set([mean[2 * i], variance[2 * i], mean[2 * i + 1], variance[2 * i + 1]], 4 * i)
      }
    })
    return { rows, stats }
  }

  /**
   * @template T
   * @param {Run} run
   * @param {() => T} compute
   * @returns {T}
   */
  #withNormsOf(run, compute) {
    if (run !== this.without) return compute()
    const { off, instead } = this.#settings
    const put = (/** @type {(i: number) => string} */ choose) =>
      this.#slots.forEach(([parent, name], i) => Reflect.set(parent, name, this.#choices[i][choose(i)]))
    put((i) => (off[i] ? instead : 'norm'))
    try {
      return compute()
    } finally {
      put(() => 'norm')
    }
  }
}
