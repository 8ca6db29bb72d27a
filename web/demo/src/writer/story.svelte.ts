// The page's story: what the small GPT writes with its norms, and without those that are off. The opening and
// "Inside a GPT" show it, and the page's switch acts on it.

import { untrack } from 'svelte'
import { prefersReducedMotion } from 'svelte/motion'
import recording from 'recording:story'
import type { Page } from '../page.svelte.ts'
import slice, { ALL, NORMS, TEMPERATURE } from '../sections/story/slice.ts'
import type { States } from '../sections/slices.ts'
import type { Report } from './report.ts'
import { Writer } from './writer.svelte.ts'

const USUAL = slice.defaults()

const PACE = 125 // milliseconds from one word to the next
/** Words of the recording: those that are there at once, those where the page switches off and on, the last. */
const WORDS = {
  first: 4,
  off: USUAL.from,
  on: USUAL.from + 16,
  last: recording.with.at - recording.promptLength + 1,
}

export class Story {
  page: Page
  writer = new Writer(recording)
  /** How many words of the recording are shown. */
  #typed = $state(WORDS.first)
  /** Whether the page moves the switch by itself, which it does once. */
  autoplay = $state(false)

  #state = $derived.by(() => this.page.state.story)
  /** Whether the report is the model's; before, it is the recording. */
  live = $derived.by(() => this.writer.live && !this.autoplay)
  /** The norms that are off, from 1. */
  off = $derived(ALL.filter((norm) => this.#state.off.includes(norm)))
  /** The page's switch: whether a norm is on. */
  on = $derived.by(() =>
    this.autoplay ? this.#typed < WORDS.off || this.#typed >= WORDS.on : this.off.length < NORMS,
  )
  /** Whether there is a text to show: the recording has the default settings, and all norms on or all off. */
  shown = $derived.by(() => {
    const { seed, replacement, off, from } = this.#state
    const recorded = off.length === 0 || (!this.on && from === USUAL.from)
    return this.live || (recorded && seed === USUAL.seed && replacement === USUAL.replacement)
  })
  report: Report = $derived.by(() => {
    if (this.live) return this.writer.report
    const at = recording.promptLength - 1 + this.#typed
    const { without } = recording
    return {
      ...recording,
      with: { ...recording.with, at },
      without: this.on || !without ? null : { ...without, at },
    }
  })

  constructor(page: Page) {
    this.page = page
    $effect.root(() => {
      $effect(() => void this.#write())
      $effect(() => this.#type())
    })
  }

  /** Gives the writer the settings. The text goes on from the recording, which is shown until the model is there. */
  #write() {
    const settings = this.#state
    const still = prefersReducedMotion.current
    const off = ALL.map((norm) => settings.off.includes(norm))
    return untrack(() => {
      this.writer.play(this.writer.wanted && !still)
      const words = () => (still ? Infinity : this.live ? 0 : this.#typed)
      return this.writer.set({ ...settings, temperature: TEMPERATURE, off }, words)
    })
  }

  /** Shows the recording word by word, until the model writes. */
  #type() {
    if (prefersReducedMotion.current) {
      this.#typed = WORDS.last
      if (this.autoplay) void this.#endAutoplay()
    }
    if (this.live || this.#typed >= WORDS.last) return
    const timer = setInterval(() => {
      if (this.writer.seen) this.#typed++
      if (this.autoplay && this.#typed >= WORDS.on) void this.#endAutoplay()
    }, PACE)
    return () => clearInterval(timer)
  }

  /** Moves the switch: off and on again. Not where the reader wants no motion, or a link has other settings. */
  startAutoplay() {
    const isUsual = this.shown && this.on && this.#state.from === USUAL.from
    if (prefersReducedMotion.current || this.live || !isUsual) return
    this.autoplay = true
    this.writer.hold(true)
  }

  /** The model goes on where the recording is. */
  async #endAutoplay() {
    await this.#write()
    this.autoplay = false
    this.writer.hold(false)
  }

  /** Moves the page's switch. */
  switchTo(on: boolean) {
    if (this.autoplay) void this.#endAutoplay()
    this.turn({ off: on ? [] : ALL, replacement: 'nothing' })
  }

  /** Changes which norms are on. Both texts part at the word that is being written. */
  turn(changes: Partial<States['story']>) {
    const { seed, promptLength, with: run } = this.report
    const from = run.ended ? 0 : Math.max(0, run.at - promptLength + 1)
    this.page.edit('story', { ...(this.live ? { seed, from } : {}), ...changes })
    if (!prefersReducedMotion.current) this.writer.play(true)
  }
}

const stories: WeakMap<Page, Story> = new WeakMap()

/** The page's story: one for all sections. */
export function storyOf(page: Page): Story {
  const story = stories.get(page) ?? new Story(page)
  stories.set(page, story)
  return story
}
