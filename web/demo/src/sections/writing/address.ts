// A model's file at an address: how large it is, and its bytes.

/** What a reader can be told: the message is a sentence, or several. */
export class CheckpointError extends Error {
  /** An error that a worker throws arrives as an Error with this name. */
  override name = 'CheckpointError'
}

/** @returns for the reader */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return `Something went wrong: ${error}.`
  return error.name === 'CheckpointError' ? error.message : `Something went wrong: ${error.message}.`
}

/** Bytes as people say them: 548 MB. */
export const megabytes = (bytes: number) =>
  bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 9.95e6 ? 1 : 0)} MB`

/** @throws {CheckpointError} unless the text is an https: address or an address of this site */
export function checkAddress(typed: string): URL {
  const text = typed.trim()
  const base = text.startsWith('/') ? location.href : undefined
  const address = URL.canParse(text, base) ? new URL(text, base) : null
  if (address && (address.protocol === 'https:' || address.origin === location.origin)) return address
  throw new CheckpointError('An address should begin with https://.')
}

/**
 * How large a file is, before it is downloaded.
 *
 * @returns bytes; null where the server does not say it
 * @throws {CheckpointError}
 */
export async function sizeAt(address: URL): Promise<number | null> {
  // Some servers refuse HEAD, or leave the length out of its answer.
  const head = await fetch(address, { method: 'HEAD' }).catch(() => null)
  await head?.text() // is empty; unread, Chromium would count the request as failed
  const known = head?.ok ? lengthOf(head) : null
  if (known !== null) return known
  const whole = await download(address)
  await whole.body?.cancel()
  return lengthOf(whole)
}

/** @returns bytes, if it says so */
const lengthOf = ({ headers }: Response): number | null => Number(headers.get('Content-Length')) || null

/**
 * @returns that is ok
 * @throws {CheckpointError}
 */
export async function download(address: URL): Promise<Response> {
  const response = await fetch(address).catch((cause) => {
    const message =
      `${address.host} cannot be reached from here: there is no connection, or the site lets no other ` +
      'page read its files. Then download the file there, and choose it here.'
    throw new CheckpointError(message, { cause })
  })
  if (response.ok) return response
  const refusal = response.status === 404 ? 'has no such file' : 'does not give the file'
  throw new CheckpointError(`${address.host} ${refusal}: it answers ${response.status}.`)
}
