// Makes an int8 model of a file, in a worker of its own. The worker is ended when it is done or no longer
// wanted: that gives back its memory, and nothing of it can disturb the model that writes.

import { load } from 'gpt-layers'
import { inSentences, readCheckpoint, type Progress } from './checkpoint.ts'
import { keep, NotKept } from './kept.ts'
import { expose } from '../../remote.ts'

const reader = {
  /**
   * @param source a file, or an address
   * @returns null: it is kept; else the model with int8 weights as a safetensors file, and why it is not kept
   */
  async read(
    source: File | string,
    onprogress: (progress: Progress) => unknown,
  ): Promise<{ file: Blob; problem: string } | null> {
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
      return { file: new Blob([bytes as BlobPart]), problem: error.message }
    }
  },
}
expose(reader)

export type Reader = typeof reader
