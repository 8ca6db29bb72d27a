/**
 * What kind of mistake it was.
 *
 * - `TYPE`: an argument is of the wrong kind
 * - `SHAPE`: a tensor's shape does not fit
 * - `VALUE`: the right kind, but out of range
 * - `MEMORY`: the heap cannot hold it
 * - `DISPOSED`: the tensor was disposed before
 * - `UNSUPPORTED`: this machine, or this version, cannot do it
 * - `INTERNAL`: a kernel refused what this package passed to it: a bug of this package
 *
 * @typedef {'TYPE' | 'SHAPE' | 'VALUE' | 'MEMORY' | 'DISPOSED' | 'UNSUPPORTED' | 'INTERNAL'} ErrorCode
 */

/** The one error this package throws. Its message names the argument, what was expected and what came. */
export class GptLayersError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(code, message, options) {
    super(message, options)
    this.name = 'GptLayersError'
    /** @type {ErrorCode} @readonly */
    this.code = code
  }
}
