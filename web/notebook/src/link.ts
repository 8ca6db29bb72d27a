// A notebook in a link: compressed, in the fragment, which no server sees.

const LONGEST = 64_000 // characters of a link that is read, and that is made
const LARGEST = 1_000_000 // characters of a notebook

const piped = (bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream) =>
  new Blob([bytes]).stream().pipeThrough(stream)

/** @returns a fragment without its #; an error if it is too long */
export async function pack(file: string): Promise<string> {
  const stream = piped(new TextEncoder().encode(file), new CompressionStream('deflate-raw'))
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  const code = `code=${base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`
  if (code.length <= LONGEST) return code
  throw new RangeError(
    `This notebook makes a link of ${kB(code.length)}, too long for most programs. Download it.`,
  )
}

const kB = (characters: number) => `${Math.ceil(characters / 1000).toLocaleString('en-US')} kB`

/** @returns the file in a fragment */
export async function unpack(fragment: string): Promise<string> {
  if (fragment.length > LONGEST)
    throw new RangeError(
      `The notebook in this link is not read: the link has ${kB(fragment.length)}, at most ${kB(LONGEST)} are.`,
    )
  let text = ''
  try {
    const base64 = fragment.slice('code='.length).replaceAll('-', '+').replaceAll('_', '/')
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const reader = piped(bytes, new DecompressionStream('deflate-raw'))
      .pipeThrough(new TextDecoderStream())
      .getReader()
    for (let read = await reader.read(); !read.done && text.length <= LARGEST; read = await reader.read())
      text += read.value
    if (text.length > LARGEST) await reader.cancel()
  } catch {
    throw new Error('The notebook in this link cannot be read: a part of the link is missing or wrong.')
  }
  if (text.length <= LARGEST) return text
  throw new RangeError(`The notebook in this link is not opened: it has more than ${kB(LARGEST)}.`)
}
