// Makes an int8 model of a file, in a worker of its own. The worker is ended when it is done or no longer
// wanted: that gives back its memory, and nothing of it can disturb the model that writes.

import { load } from 'gpt-layers'
import { readCheckpoint } from './checkpoint.js'
import { keep } from './kept.js'
import { expose } from '../../remote.js'

/** @import { Progress } from './checkpoint.js' */

const reader = {
  /**
   * @param {File | string} source a file, or an address
   * @param {(progress: Progress) => unknown} onprogress
   * @returns {Promise<{ file: Blob, problem: string }>} the model with int8 weights as a safetensors file;
   *   why it could not be kept for the next visit, or ''
   */
  async read(source, onprogress) {
    const gpt = await load()
    const model = await readCheckpoint(gpt, source, onprogress)
    const bytes = model.saveSafetensors()
    gpt.dispose()
    try {
      return { file: await keep(bytes), problem: '' }
    } catch (error) {
      const reason = error instanceof Error ? error.message : error
      return { file: new Blob([/** @type {BlobPart} */ (bytes)]), problem: `${reason}` }
    }
  },
}
expose(reader)

/** @typedef {typeof reader} Reader */
