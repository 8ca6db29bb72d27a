// The worker in which a GPT writes. It writes at its own pace and reports at most once a frame, and only when
// the page has taken the last report: the text never waits for drawing.

import { load } from 'gpt-layers'
import { loadStories, tokenizer } from '../../stories.js'
import { expose } from '../../remote.js'
import { Engine } from './engine.js'
import { snapshot } from './report.js'

/** @import { Gpt } from 'gpt-layers' */
/** @import { Tokenizer } from '../../words.js' */
/** @import { Settings } from './engine.js' */
/** @import { Report } from './report.js' */

/**
 * A model to write with: { name: 'stories' }, or another one with what its loader needs.
 *
 * @typedef {{ name: 'stories' } | { name: 'gpt2', file: Blob }} Source
 *
 * @typedef {object} Loaded
 * @property {Gpt} gpt
 * @property {InstanceType<Gpt['GPTModel']>} model
 * @property {Tokenizer} tokenizer
 * @property {number} [topK] only so many tokens can be drawn
 * @property {() => void} dispose
 *
 * @typedef {(progress: { loaded: number, total: number }) => void} OnProgress
 *
 * @typedef {{ signal: AbortSignal, onprogress?: OnProgress }} Options
 */

const FRAME = 16 // milliseconds
const TURN = 8 // milliseconds of writing at full speed, before messages are heard
const REST = 4000 // milliseconds between the end of a text and the next one

/** @type {Record<Source['name'], (source: any, options: Options) => Promise<Loaded>>} */
const LOADERS = {
  async stories(_, { signal }) {
    const gpt = await load()
    try {
      const model = await loadStories(gpt, { signal })
      return { gpt, model, tokenizer, dispose: () => gpt.dispose() }
    } catch (error) {
      gpt.dispose()
      throw error
    }
  },
  gpt2: async (source, options) => (await import('./gpt2.js')).loadGpt2(source, options),
}

/** @type {Engine | null} */ let engine = null
/** @type {Loaded | null} */ let loaded = null
/** @type {AbortController | null} */ let loading = null
/** @type {(report: Report) => unknown} */ let listener = () => undefined
/** Tokens per second while it writes; 0 while it does not. */ let rate = 0
/** @type {ReturnType<typeof setTimeout> | undefined} */ let timer
let posting = false
let changed = false

const sleep = (/** @type {number} */ milliseconds) => new Promise((wake) => setTimeout(wake, milliseconds))

async function report() {
  changed = true
  if (posting) return
  posting = true
  // A new engine has nothing to show before its first `set`.
  while (changed && engine?.with.moment) {
    changed = false
    const begun = performance.now()
    await listener(snapshot(engine, rate > 0))
    await sleep(Math.max(0, FRAME - (performance.now() - begun)))
  }
  posting = false
}

/** Writes a token, and sees to the next one. @param {number} due when it should be written */
function write(due) {
  if (!engine || rate === 0) return
  const now = performance.now()
  if (engine.ended) {
    const { settings } = engine
    engine.set({ ...settings, seed: (settings.seed + 1) % 2 ** 32, from: 0 })
  } else {
    do engine.step()
    while (rate === Infinity && performance.now() - now < TURN && !engine.ended)
  }
  report()
  const pause = engine.ended ? REST : 1000 / rate
  const next = Math.max(now, due + pause)
  timer = setTimeout(() => write(next), next - performance.now())
}

/** @returns {Engine} */
function current() {
  if (!engine) throw new Error('No model has been loaded yet.')
  return engine
}

const writing = {
  /**
   * Loads a model. The one before goes on until this has succeeded.
   *
   * @param {Source} source
   * @param {OnProgress} [onprogress]
   */
  async use(source, onprogress) {
    loading?.abort()
    const controller = (loading = new AbortController())
    const next = await LOADERS[source.name](source, { signal: controller.signal, onprogress })
    if (controller.signal.aborted) {
      next.dispose()
      throw controller.signal.reason
    }
    loading = null
    writing.pause()
    loaded?.dispose()
    loaded = next
    engine = new Engine(next)
    return engine.model
  },

  /** Ends the `use` that is running. */
  cancel() {
    loading?.abort()
  },

  /** @param {(report: Report) => unknown} listen called with what there is to see, at most once a frame */
  listen(listen) {
    listener = listen
  },

  /** @param {Settings} settings */
  set(settings) {
    current().set(settings)
    report()
  },

  /** @param {number} tokensPerSecond Infinity: as many as it can */
  play(tokensPerSecond) {
    clearTimeout(timer)
    rate = tokensPerSecond
    write(performance.now() + 1000 / rate)
  },

  pause() {
    clearTimeout(timer)
    rate = 0
    report()
  },

  step() {
    current().step()
    report()
  },

  /** @param {number} at a token's place in the text */
  goTo(at) {
    current().goTo(at)
    report()
  },

  /** @param {'with' | 'without'} which @returns {Float32Array} see Engine */
  attention(which) {
    return current().attention(which)
  },
}
expose(writing)

/** @typedef {typeof writing} WritingWorker */
