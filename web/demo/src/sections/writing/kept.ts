// The model that this browser keeps for the next visit, in the page's own part of the disk (the origin
// private file system). One tab at a time changes it: the others wait for its lock.

const NAME = 'gpt2-int8.safetensors'
const UNFINISHED = `${NAME}.unfinished`

/** Why a file is not kept: the end of a sentence. */
export class NotKept extends Error {}

const NO_FILES = 'this browser keeps no files for a page, or not in a private window'
const NO_ROOM = 'there is no room for it'
const NOT_WRITTEN = 'this browser could not write it'

/** @throws {NotKept} where the browser keeps no files */
async function folder(): Promise<FileSystemDirectoryHandle> {
  try {
    return await navigator.storage.getDirectory()
  } catch (cause) {
    throw new NotKept(NO_FILES, { cause })
  }
}

/** @returns the model that is kept, if any */
export async function findKept(): Promise<File | null> {
  try {
    const file = await (await folder()).getFileHandle(NAME)
    return await file.getFile()
  } catch {
    return null
  }
}

/** Reads the model that is kept. Meanwhile no tab replaces or deletes it. */
export async function readKept(read: (file: File | null) => Promise<void>) {
  await navigator.locks.request(NAME, { mode: 'shared' }, async () => read(await findKept()))
}

/** Deletes what a page that was closed too early has left, unless another tab is writing it now. */
export async function tidy() {
  const directory = await folder().catch(() => null)
  if (!directory) return
  await navigator.locks.request(NAME, { ifAvailable: true }, async (lock) => {
    if (lock) await remove(directory, UNFINISHED)
  })
}

/**
 * Keeps a file instead of the one that is kept. For a worker: elsewhere there is no access handle.
 *
 * @throws {NotKept}
 */
export async function keep(bytes: Uint8Array) {
  const directory = await folder()
  try {
    await navigator.locks.request(NAME, () => replace(directory, bytes))
  } catch (cause) {
    const isFull = cause instanceof DOMException && cause.name === 'QuotaExceededError'
    throw new NotKept(isFull ? NO_ROOM : NOT_WRITTEN, { cause })
  }
}

async function replace(directory: FileSystemDirectoryHandle, bytes: Uint8Array) {
  try {
    const file = await directory.getFileHandle(UNFINISHED, { create: true })
    await write(file, bytes)
    await file.move(directory, NAME) // WebKit has no move(NAME)
  } finally {
    await remove(directory, UNFINISHED)
  }
}

async function write(file: FileSystemFileHandle, bytes: Uint8Array) {
  const access = await file.createSyncAccessHandle()
  try {
    access.truncate(0)
    const written = access.write(bytes)
    if (written < bytes.length) throw new DOMException(`${written} bytes`, 'QuotaExceededError')
    access.flush()
  } finally {
    access.close()
  }
}

/** Deletes the model that is kept. */
export async function forget() {
  const directory = await folder().catch(() => null)
  if (directory) await navigator.locks.request(NAME, () => remove(directory, NAME))
}

/** @param name of a file that may be there */
const remove = (directory: FileSystemDirectoryHandle, name: string) =>
  directory.removeEntry(name).catch(() => {})
