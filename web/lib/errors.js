/**
 * The kind of mistake. A program may branch on the code; the message is for people.
 *
 * | code | meaning |
 * | --- | --- |
 * | `TYPE` | an argument has the wrong type |
 * | `SHAPE` | a tensor has the wrong shape |
 * | `VALUE` | an argument has the right type, but a value that is not allowed |
 * | `MEMORY` | the instance's memory cannot hold the result |
 * | `DISPOSED` | a tensor, or the whole instance, was disposed before |
 * | `UNSUPPORTED` | this machine, or this version of the package, cannot do it |
 * | `NETWORK` | a file of this package could not be downloaded: reload the page, or try again |
 * | `INTERNAL` | a bug in this package: please report it |
 *
 * @typedef {'TYPE' | 'SHAPE' | 'VALUE' | 'MEMORY' | 'DISPOSED' | 'UNSUPPORTED' | 'NETWORK' |
 *   'INTERNAL'} ErrorCode
 */

/**
 * The only class of error that this package throws. The message names the function and the argument, what was
 * expected and what was given: `LayerNorm.forward: x should end in 5 (embDim), got shape [2, 6]`.
 *
 * @example
 * try {
 *   layer.forward(gpt.ones([2, 6]))
 * } catch (error) {
 *   if (error instanceof GptLayersError && error.code === 'SHAPE') console.log(error.message)
 * }
 */
export class GptLayersError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} message
   * @param {{ cause?: unknown }} [options] `cause`: the error that led to this one
   */
  constructor(code, message, options) {
    super(message, options)
    this.name = 'GptLayersError'
    /** The kind of mistake. @type {ErrorCode} @readonly */
    this.code = code
  }
}
