/** What web/demo/names.js makes: a signature and a sentence for each name. */
declare module 'names' {
  export interface Names {
    exported: Record<string, readonly string[]>
    members: Record<string, readonly string[]>
  }
  const names: Names
  export default names
}
/** The policy of the frame, from vite.config.js. */
declare const FRAME_POLICY: string
