// What web/bundle.js replaces with strings.

/** The package's version. */
declare const VERSION: string

/** The code of gpt-layers-worker.js. */
declare const WORKER_CODE: string

/** Vite replaces `import.meta.env`. */
interface ImportMeta {
  readonly env?: { readonly PROD?: boolean }
}

// What some platforms have beyond the DOM's library, as far as the package uses it.

/** Node, Bun and Deno; undefined in browsers. */
declare var process:
  | {
      env: Record<string, string | undefined>
      versions?: { node?: string }
      getBuiltinModule?: (name: 'node:worker_threads') => WorkerThreads
    }
  | undefined

/** node:worker_threads. */
interface WorkerThreads {
  parentPort: MessagePortLike | null
  Worker: new (code: string, options: { eval: true; execArgv: string[] }) => NodeWorker
}

/** A worker of Node. */
interface NodeWorker {
  postMessage: (message: object) => void
  terminate: () => unknown
  unref: () => void
  on: (type: string, listener: (event: unknown) => void) => void
}

/** Where a worker talks with the thread that started it. */
interface MessagePortLike {
  onmessage: unknown
  postMessage: (message: unknown) => void
}

declare var Deno: object | undefined

/** Node and Bun; undefined elsewhere. */
declare var Buffer: { from(text: string, encoding: 'hex'): Uint8Array<ArrayBuffer> } | undefined

interface Uint8ArrayConstructor {
  /** missing in Node 24 and older */
  fromHex?: (text: string) => Uint8Array<ArrayBuffer>
}
