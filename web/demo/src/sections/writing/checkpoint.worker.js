// Makes an int8 model of a file, in a worker of its own. The worker is ended when it is done or no longer
// wanted: that gives back its memory, and nothing of it can disturb the model that writes.

import { load } from 'gpt-layers'
import { inSentences, readCheckpoint } from './checkpoint.js'
import { keep, NotKept } from './kept.js'
import { expose } from '../../remote.js'

/** @import { Progress } from './checkpoint.js' */

const reader = {
  /**
   * @param {File | string} source a file, or an address
   * @param {(progress: Progress) => unknown} onprogress
   * @returns {Promise<{ file: Blob, problem: string } | null>} null: it is kept; else the model with int8
   *   weights as a safetensors file, and why it is not kept
   */
  async read(source, onprogress) {
    const bytes = await inSentences(async () => {
      const gpt = await load()
      const model = await readCheckpoint(gpt, source, { onProgress: onprogress })
      const bytes = model.saveSafetensors()
      gpt.dispose()
      return bytes
    })
    try {
      await keep(bytes)
      return null
    } catch (error) {
      if (!(error instanceof NotKept)) throw error
      return { file: new Blob([/** @type {BlobPart} */ (bytes)]), problem: error.message }
    }
  },
}
expose(reader)

/** @typedef {typeof reader} Reader */
