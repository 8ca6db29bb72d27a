/** What web/demo/names.js makes: a signature and a sentence for each name. */
declare module 'names' {
  export interface Names {
    exported: Record<string, readonly string[]>
    members: Record<string, readonly string[]>
  }
  const names: Names
  export default names
}
declare module 'fonts.css'
declare module '*?worker&url' {
  const url: string
  export default url
}
declare module '*?raw' {
  const text: string
  export default text
}
declare module 'gpt-layers/*.wasm?url' {
  const url: string
  export default url
}
/** The policy of the frame, from vite.config.js. */
declare const FRAME_POLICY: string
