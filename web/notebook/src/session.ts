// A worker for the cells, in a frame of its own. To end it is to remove the frame.

import { proxy, transfer, wrap, type Remote } from 'comlink'
import relaxed from 'gpt-layers/relaxed.wasm?url'
import simd from 'gpt-layers/simd.wasm?url'
import { SCRIPT } from './frame.js'
import type { Output } from './messages.ts'
import type { Cells } from './worker.ts'
import workerUrl from './worker.ts?worker&url'

async function fetched(url: string): Promise<Response> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} could not be fetched: ${response.status}`)
  return response
}

/** The build that runs here, as `load` of the package chooses it. */
async function wasm(): Promise<ArrayBuffer> {
  const bytes = await (await fetched(relaxed)).arrayBuffer()
  return WebAssembly.validate(bytes) ? bytes : (await fetched(simd)).arrayBuffer()
}

const PINGS = 10 // without an answer, a second apart

export class Session {
  readonly #frame = document.createElement('iframe')
  readonly #channel = new MessageChannel()
  readonly #cells: Remote<Cells> = wrap(this.#channel.port1)
  readonly #output: Output
  readonly #ended: (reason: string) => void
  readonly #timer = setInterval(() => this.#ping(), 1000)
  #pings = 0

  /** @param ended the worker has ended by itself, such as without memory */
  constructor(output: Output, ended: (reason: string) => void) {
    this.#output = proxy(output)
    this.#ended = ended
    this.#frame.hidden = true
    this.#frame.title = 'the cells’ worker'
    this.#frame.setAttribute('sandbox', 'allow-scripts')
    const policy = `<meta http-equiv="Content-Security-Policy" content="${FRAME_POLICY}">`
    this.#frame.srcdoc = `<!doctype html>${policy}<script>${SCRIPT}</script>`
    this.#frame.addEventListener('load', () => void this.#start(), { once: true })
    addEventListener('message', this.#hear)
    document.body.append(this.#frame)
  }

  async #start() {
    try {
      const [worker, bytes] = await Promise.all([fetched(workerUrl), wasm()])
      this.#frame.contentWindow?.postMessage([await worker.text(), bytes], '*', [this.#channel.port2])
    } catch (error) {
      this.#fail(error)
    }
  }

  #hear = ({ source, data }: MessageEvent) => {
    if (source !== this.#frame.contentWindow) return
    if (data.failed) this.#fail(data.failed)
    this.#pings = 0
  }

  /** Chrome gives the frame a process of its own. Without memory that process ends, and nothing says so. */
  #ping() {
    if (this.#pings++ === PINGS) this.#fail('it has ended, perhaps for lack of memory')
    else this.#frame.contentWindow?.postMessage(null, '*')
  }

  #fail(reason: unknown) {
    this.end()
    this.#ended(String(reason))
  }

  /** Resolves once the cell has run; never, where the worker ends before. */
  run = (cell: number, code: string) => this.#cells.run(cell, code, this.#output)

  /** Asks the cell to stop where it awaits next. */
  stop = () => void this.#cells.stop()

  /** The page reads the file: WebKit lets no sandbox read one. */
  async give(file: File) {
    const bytes = await file.arrayBuffer()
    await this.#cells.give(transfer(bytes, [bytes]))
  }

  end() {
    clearInterval(this.#timer)
    removeEventListener('message', this.#hear)
    this.#channel.port1.close()
    this.#frame.remove()
  }
}
