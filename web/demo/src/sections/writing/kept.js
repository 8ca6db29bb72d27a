// The model that this browser keeps for the next visit, in the page's own part of the disk (the origin
// private file system).

const NAME = 'gpt2-int8.safetensors'
const UNFINISHED = `${NAME}.unfinished`

/** @returns {Promise<FileSystemDirectoryHandle>} @throws where the browser keeps no files */
async function folder() {
  if (!navigator.storage?.getDirectory) throw new Error('this browser keeps no files for a page')
  return navigator.storage.getDirectory()
}

/** @returns {Promise<File | null>} the model that is kept, if any */
export async function findKept() {
  try {
    const file = await (await folder()).getFileHandle(NAME)
    return await file.getFile()
  } catch {
    return null
  }
}

/**
 * Keeps a file instead of the one that is kept. For a worker: elsewhere there is no access handle.
 *
 * @param {Uint8Array} bytes
 * @returns {Promise<File>} as it is kept
 * @throws {Error} where the disk or the browser refuses
 */
export async function keep(bytes) {
  const directory = await folder()
  try {
    const file = await directory.getFileHandle(UNFINISHED, { create: true })
    const access = await file.createSyncAccessHandle()
    try {
      access.truncate(0)
      const written = access.write(bytes)
      if (written < bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes found room`)
      access.flush()
    } finally {
      access.close()
    }
    await file.move(NAME)
    return await file.getFile()
  } catch (error) {
    await directory.removeEntry(UNFINISHED).catch(() => {})
    throw error
  }
}

/** Deletes the model that is kept, and what a page that was closed too early has left. */
export async function forget() {
  const directory = await folder().catch(() => null)
  const names = directory ? [NAME, UNFINISHED] : []
  await Promise.all(names.map((name) => directory?.removeEntry(name).catch(() => {})))
}
