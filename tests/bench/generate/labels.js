// The names of the contestants.

/**
 * @typedef {{ engine: string, weights: string, build: string, threads: number }} Label build: ours; '' for a
 *   peer
 */

export const ENGINES = {
  ours: 'gpt-layers',
  onnxruntime: 'onnxruntime-web',
  wllama: 'wllama',
  llama: 'llama.cpp, native',
}

/** Ours and onnxruntime-web's. */
export const WEIGHTS = /** @type {const} */ (['float32', 'int8'])
/** Ours. The last one has keys and values in int8, too; the others have them in float32. */
export const OWN_WEIGHTS = /** @type {const} */ ([...WEIGHTS, 'int8, cache too'])
/** llama.cpp's. */
export const FORMATS = /** @type {const} */ (['float32', 'Q8_0'])

/** @param {Omit<Label, 'threads'>} label @returns {string} what the option --only looks at */
export const nameOf = ({ engine, weights, build }) => [engine, weights, build].filter(Boolean).join(' ')
