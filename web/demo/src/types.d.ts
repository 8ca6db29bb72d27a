/** The day on which the page was built; see vite.config.js. */
declare const BUILT: string

/** The service worker’s constants; see offline.js. */
declare const FILES: readonly string[]
declare const VERSION: string

/** A file of TeX is imported as MathML: formulas.js converts it. */
declare module '*.tex' {
  const mathml: string
  export default mathml
}

/** What a section shows until its model is here; see recordings.js. */
declare module 'recording:story' {
  const recording: import('./writer/report.ts').Report
  export default recording
}
declare module 'recording:way' {
  type Step = import('./writer/engine.ts').Step
  const recording: { with: Step; without: Step }
  export default recording
}
