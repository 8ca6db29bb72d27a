// A worker for the cells, in a frame of its own. To stop it is to remove the frame.

import relaxed from 'gpt-layers/relaxed.wasm?url'
import simd from 'gpt-layers/simd.wasm?url'
import { SCRIPT } from './frame.js'
import type { FromWorker, Item, ToWorker } from './messages.ts'
import workerUrl from './worker.ts?worker&url'

export interface Listener {
  output(cell: number, items: Item[]): void
  done(cell: number, failed: boolean): void
  /** The worker has ended by itself, such as without memory. */
  ended(reason: string): void
}

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
  #frame = document.createElement('iframe')
  #port: MessagePort
  #listener: Listener
  #pings = 0
  #timer = setInterval(() => this.#ping(), 1000)

  constructor(listener: Listener) {
    this.#listener = listener
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.onmessage = ({ data }) => this.#hear(data)
    this.#frame.hidden = true
    this.#frame.title = 'the cells’ worker'
    this.#frame.setAttribute('sandbox', 'allow-scripts')
    const policy = `<meta http-equiv="Content-Security-Policy" content="${FRAME_POLICY}">`
    this.#frame.srcdoc = `<!doctype html>${policy}<script>${SCRIPT}</script>`
    this.#frame.addEventListener('load', () => void this.#start(port2), { once: true })
    addEventListener('message', this.#hearFrame)
    document.body.append(this.#frame)
  }

  async #start(port: MessagePort) {
    try {
      const code = await (await fetched(workerUrl)).text()
      this.#frame.contentWindow?.postMessage(code, '*', [port])
    } catch (error) {
      this.#end(error)
    }
  }

  #hearFrame = ({ source, data }: MessageEvent) => {
    if (source !== this.#frame.contentWindow) return
    if (data.failed) this.#end(data.failed)
    this.#pings = 0
  }

  /** Chrome gives the frame a process of its own. Without memory that process ends, and nothing says so. */
  #ping() {
    if (this.#pings++ === PINGS) this.#end('it has ended, perhaps for lack of memory')
    else this.#frame.contentWindow?.postMessage('', '*')
  }

  #hear(message: FromWorker) {
    if (message.type === 'output') this.#listener.output(message.cell, message.items)
    else if (message.type === 'done') this.#listener.done(message.cell, message.failed)
    else
      wasm().then(
        (bytes) => this.send({ type: 'wasm', bytes }),
        (error) => this.#end(error),
      )
  }

  #end(reason: unknown) {
    this.stop()
    this.#listener.ended(String(reason))
  }

  /** The page reads the file: WebKit lets no sandbox read one. */
  async give(file: File) {
    const bytes = await file.arrayBuffer()
    this.#port.postMessage({ type: 'file', bytes } satisfies ToWorker, [bytes])
  }

  send(message: ToWorker) {
    this.#port.postMessage(message)
  }

  stop() {
    clearInterval(this.#timer)
    removeEventListener('message', this.#hearFrame)
    this.#port.close()
    this.#frame.remove()
  }
}
