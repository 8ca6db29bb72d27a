// How a GPT-2 comes here: asked for, read, kept, deleted.

/** @import { Progress } from './checkpoint.js' */
/** @import { Reader } from './checkpoint.worker.js' */
/** @import { Remote } from '../../worker.js' */

import { callback, inWorker, stop } from '../../worker.js'
import { checkAddress, sizeAt } from './address.js'
import { findKept, forget } from './kept.js'

/**
 * Writes with a model: a safetensors file with int8 weights, or null for the stories.
 *
 * @typedef {(file: Blob | null) => Promise<void>} Use
 */

/** The model that a page has, and how it gets one. */
export class Checkpoint {
  /** The model as a file: of this browser's storage, or of this visit only. @type {Blob | null} */
  file = $state.raw(null)
  /** Reading a file. @type {Progress | null} */
  progress = $state.raw(null)
  /** GPT-2 is about to write. */
  starting = $state(false)
  /** An address was asked how large its file is. @type {{ address: URL, bytes: number | null } | null} */
  offer = $state.raw(null)
  asking = $state(false)
  /** Why there is no GPT-2. */
  problem = $state('')
  /** What is wrong with the address. */
  addressProblem = $state('')
  /** Why GPT-2 will not be here at the next visit. */
  notKept = $state('')

  #use
  /** @type {Remote<Reader> | null} */ #reader = null
  #asked = new AbortController()

  /** @param {Use} use */
  constructor(use) {
    this.#use = use
  }

  async findKept() {
    this.file ??= await findKept()
  }

  /** @param {string} typed */
  async ask(typed) {
    this.addressProblem = ''
    this.offer = null
    this.#asked.abort()
    const { signal } = (this.#asked = new AbortController())
    this.asking = true
    try {
      const address = checkAddress(typed)
      const bytes = await sizeAt(address, signal)
      if (!signal.aborted) this.offer = { address, bytes }
    } catch (error) {
      if (!signal.aborted) this.addressProblem = sentenceOf(error)
    }
    if (!signal.aborted) this.asking = false
  }

  /** The question is no longer open. */
  dismiss() {
    this.#asked.abort()
    this.asking = false
    this.offer = null
    this.addressProblem = ''
  }

  /** Reads a file and writes with it. @param {File | URL} source */
  async read(source) {
    this.cancel()
    this.problem = this.notKept = ''
    this.progress = { loaded: 0, total: 0 }
    const worker = new Worker(new URL('./checkpoint.worker.js', import.meta.url), { type: 'module' })
    /** @type {Remote<Reader>} */
    const reader = inWorker(worker)
    this.#reader = reader
    const isCurrent = () => this.#reader === reader
    const onprogress = (/** @type {Progress} */ progress) => {
      if (isCurrent()) this.progress = progress
    }
    try {
      const failed = new Promise((_, reject) => {
        worker.onerror = () => reject(new Error('The program that reads it could not be fetched.'))
      })
      const reading = reader.read(source instanceof File ? source : source.href, callback(onprogress))
      const { file, problem } = await Promise.race([reading, failed])
      if (!isCurrent()) return
      this.#stop()
      this.file = file
      this.notKept = problem
      await this.start()
    } catch (error) {
      if (!isCurrent()) return
      this.#stop()
      this.problem = sentenceOf(error)
    }
  }

  /** Writes with the model that is here. */
  async start() {
    if (!this.file) return
    this.problem = ''
    this.starting = true
    try {
      await this.#use(this.file)
    } catch (error) {
      this.problem = `GPT-2 cannot write here: ${sentenceOf(error)}`
    }
    this.starting = false
  }

  /** Reads no further. */
  cancel() {
    this.#stop()
  }

  async delete() {
    this.file = null
    this.notKept = ''
    await forget()
  }

  #stop() {
    if (this.#reader) stop(this.#reader)
    this.#reader = null
    this.progress = null
  }
}

/** @param {unknown} error */
const sentenceOf = (error) => (error instanceof Error ? error.message : String(error))
