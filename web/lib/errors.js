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

/**
 * The error for a wrong argument: `x should end in 5 (embDim), got shape [2, 6]`.
 *
 * @param {ErrorCode} code
 * @param {string} name of the argument
 * @param {string} expected what the argument should be or do
 * @param {string | number | null} [got] what came instead
 * @param {unknown} [cause]
 * @returns {GptLayersError}
 */
export const fail = (code, name, expected, got = null, cause = undefined) =>
  new GptLayersError(code, `${name} should ${expected}${got === null ? '' : `, got ${got}`}`, { cause })

/** The errors whose message begins with the name of a public function. @type {WeakSet<GptLayersError>} */
const named = new WeakSet()

/**
 * Puts the name of a public function before the message of an error of ours, where it has no name yet.
 *
 * @param {unknown} error
 * @param {string} name such as `LayerNorm.forward`
 * @returns {unknown} the error
 */
export function withName(error, name) {
  if (!(error instanceof GptLayersError) || named.has(error)) return error
  named.add(error)
  const { message, stack } = error // V8 writes the message into the stack when that is first read
  error.message = `${name}: ${message}`
  error.stack = stack?.replace(message, () => error.message)
  return error
}

/**
 * Lets the errors that the methods and setters of a class throw begin with the name of the method. The only
 * place that does: checks inside need not know where they are called from.
 *
 * @param {object} prototype of the class
 * @param {(self: object, method: string) => string} nameOf
 * @param {readonly string[]} [internal] methods that our own code calls: the caller's name counts
 */
export function nameErrors(prototype, nameOf, internal = []) {
  for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    for (const kind of /** @type {const} */ (['value', 'set'])) {
      const method = descriptor[kind]
      if (typeof method !== 'function' || key === 'constructor' || internal.includes(key)) continue
      /** @type {(this: object, ...args: unknown[]) => unknown} */
      descriptor[kind] = function (...args) {
        try {
          return method.apply(this, args)
        } catch (error) {
          throw withName(error, nameOf(this, key))
        }
      }
    }
    Object.defineProperty(prototype, key, descriptor)
  }
}
