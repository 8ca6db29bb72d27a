// How a GPT-2 comes here: asked for, read, kept, deleted.

import { callback, inWorker, stop, type Remote } from '../../remote.ts'
import { checkAddress, CheckpointError, sentenceOf, sizeAt } from './address.ts'
import type { Progress } from './checkpoint.ts'
import type { Reader } from './checkpoint.worker.ts'
import { findKept, forget, readKept, tidy } from './kept.ts'

/** Writes with a model: a safetensors file with int8 weights, or null for the stories. */
type Use = (file: Blob | null) => Promise<void>

/** The model that a page has, and how it gets one. */
export class Checkpoint {
  /** The model as a file: of this browser's storage, or of this visit only. */
  file: Blob | null = $state.raw(null)
  /** How much of a file has been read; null while none is read. */
  progress: Progress | null = $state.raw(null)
  /** GPT-2 is about to write. */
  starting = $state(false)
  /** An address that is being asked how large its file is. */
  question: { typed: string } | null = $state.raw(null)
  /** What the address has answered. */
  offer: { address: URL; bytes: number | null } | null = $state.raw(null)
  /** Why there is no GPT-2. */
  problem = $state('')
  /** What is wrong with the address. */
  addressProblem = $state('')
  /** Why GPT-2 will not be here at the next visit. */
  notKept = $state('')

  #use
  #reader: Remote<Reader> | null = null
  /** The last call of `use`: the one before is no longer wanted. */ #wish = {}

  constructor(use: Use) {
    this.#use = use
  }

  async findKept() {
    void tidy()
    const kept = await findKept()
    this.file ??= kept
  }

  /** Asks how large the file at an address is. */
  async ask(typed: string) {
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

  /** Reads a file and writes with it. */
  async read(source: File | URL) {
    this.cancel()
    this.problem = this.notKept = ''
    this.progress = { loaded: 0, total: 0 }
    const worker = new Worker(new URL('./checkpoint.worker.ts', import.meta.url), { type: 'module' })
    const reader: Remote<Reader> = inWorker(worker)
    this.#reader = reader
    const isCurrent = () => this.#reader === reader
    const onprogress = (progress: Progress) => {
      if (isCurrent()) this.progress = progress
    }
    try {
      const failed = new Promise<never>((_, reject) => {
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

  async #begin(file: Blob | null) {
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
