// What web/bundle.js replaces with strings.

/** The package's version. */
declare const VERSION: string

/** The code of gpt-layers-worker.js. */
declare const WORKER_CODE: string

/** Vite replaces `import.meta.env`. */
interface ImportMeta {
  readonly env?: { readonly PROD?: boolean }
}
