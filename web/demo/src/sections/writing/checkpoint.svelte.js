// How a GPT-2 comes here: asked for, read, kept, deleted.

/** @import { Progress } from './checkpoint.js' */
/** @import { Reader } from './checkpoint.worker.js' */
/** @import { Remote } from '../../remote.js' */

import { callback, inWorker, stop } from '../../remote.js'
import { checkAddress, CheckpointError, sentenceOf, sizeAt } from './address.js'
import { findKept, forget, readKept, tidy } from './kept.js'

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
  /** An address that is being asked how large its file is. @type {{ typed: string } | null} */
  question = $state.raw(null)
  /** What it has answered. @type {{ address: URL, bytes: number | null } | null} */
  offer = $state.raw(null)
  /** Why there is no GPT-2. */
  problem = $state('')
  /** What is wrong with the address. */
  addressProblem = $state('')
  /** Why GPT-2 will not be here at the next visit. */
  notKept = $state('')

  #use
  /** @type {Remote<Reader> | null} */ #reader = null
  /** The last call of `use`: the one before is no longer wanted. */ #wish = {}

  /** @param {Use} use */
  constructor(use) {
    this.#use = use
  }

  async findKept() {
    void tidy()
    const kept = await findKept()
    this.file ??= kept
  }

  /** Asks how large the file at an address is. @param {string} typed */
  async ask(typed) {
    this.dismiss()
    const question = (this.question = { typed })
    try {
      const address = checkAddress(typed)
      const bytes = await sizeAt(address)
      if (this.question === question) this.offer = { address, bytes }
    } catch (error) {
      if (this.question === question) this.addressProblem = sentenceOf(error)
    }
    if (this.question === question) this.question = null
  }

  /** Forgets the question and its answer. */
  dismiss() {
    this.question = null
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
        worker.onerror = () => reject(new CheckpointError('The page’s part that reads it was not fetched.'))
      })
      const reading = reader.read(source instanceof File ? source : source.href, callback(onprogress))
      const unkept = await Promise.race([reading, failed])
      if (!isCurrent()) return
      this.cancel()
      this.file = unkept?.file ?? null
      this.notKept = unkept?.problem ?? ''
      await this.write()
    } catch (error) {
      if (!isCurrent()) return
      this.cancel()
      this.problem = sentenceOf(error)
    }
  }

  /** Writes with the model that is here. In another tab it may have been deleted, or replaced. */
  async write() {
    if (this.notKept) return this.#begin(this.file)
    await readKept(async (file) => {
      this.file = file
      if (file) await this.#begin(file)
      else this.problem = 'GPT-2 is no longer kept in this browser.'
    })
  }

  /** Writes with the stories. */
  async tellStories() {
    await this.#begin(null)
  }

  /** @param {Blob | null} file */
  async #begin(file) {
    const wish = (this.#wish = {})
    this.problem = ''
    this.starting = file !== null
    try {
      await this.#use(file)
    } catch (error) {
      if (this.#wish === wish) this.problem = sentenceOf(error)
    }
    if (this.#wish === wish) this.starting = false
  }

  /** Reads no further. */
  cancel() {
    if (this.#reader) stop(this.#reader)
    this.#reader = null
    this.progress = null
  }

  /** Keeps it no longer. It writes on, if it does. */
  async delete() {
    await forget()
    this.file = null
    this.notKept = ''
  }
}
