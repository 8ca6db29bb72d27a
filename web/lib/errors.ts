/**
 * The kind of mistake. A program may branch on the code; the message is for people.
 *
 * | code | meaning |
 * | --- | --- |
 * | `TYPE` | an argument has the wrong type, or the function does not read it |
 * | `SHAPE` | a tensor has the wrong shape |
 * | `VALUE` | an argument has the right type, but a value that is not allowed; an option has an unknown name |
 * | `MEMORY` | the memory cannot hold the result |
 * | `DISPOSED` | a tensor was disposed before; or `load` has not run, or `dispose` has |
 * | `UNSUPPORTED` | this machine, or this version of the package, cannot do it |
 * | `NETWORK` | a file of this package could not be downloaded: reload the page, or try again |
 * | `INTERNAL` | a bug in this package: please report it. Or a thread did not finish its part of a call in time |
 */
export type ErrorCode =
  'TYPE' | 'SHAPE' | 'VALUE' | 'MEMORY' | 'DISPOSED' | 'UNSUPPORTED' | 'NETWORK' | 'INTERNAL'

/**
 * The class of this package's own errors. Where a `signal` aborts, the error is its `reason`, and what a
 * function of yours throws, such as `onProgress`, comes out as it is. The message names the function and the
 * argument, what was expected and what was given: `LayerNorm.forward: x should end in 5 (embDim), got shape
 * [2, 6]`.
 *
 * @example
 * try {
 *   layer.forward(gpt.ones([2, 6]))
 * } catch (error) {
 *   if (error instanceof GptLayersError && error.code === 'SHAPE') console.log(error.message)
 * }
 */
export class GptLayersError extends Error {
  /** The kind of mistake. */
  readonly code: ErrorCode

  /** @param options `cause`: the error that led to this one */
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'GptLayersError'
    this.code = code
  }
}

/**
 * The error for a wrong argument: `x should end in 5 (embDim), got shape [2, 6]`.
 *
 * @param expected what the argument should be or do
 * @param got what came instead; an array of numbers is a shape
 */
export const fail = (
  code: ErrorCode,
  name: string,
  expected: string,
  got: string | number | readonly number[] | null = null,
  cause: unknown = undefined,
): GptLayersError => {
  const what = typeof got === 'object' ? got && `shape [${got.join(', ')}]` : got
  return new GptLayersError(code, `${name} should ${expected}${what === null ? '' : `, got ${what}`}`, {
    cause,
  })
}

/** The message of an error, or of the event of an error. */
export const messageOf = (error: unknown): string | undefined => Object(error).message

/** The name of a public function or class with which the message of an error begins. */
const names: WeakMap<GptLayersError, string> = new WeakMap()

/**
 * Puts the name of a public function or class before the message of an error of ours.
 *
 * @param name such as `LayerNorm.forward`, where the error has no name yet. With `isClass`, it takes the place of that
 *   of a layer inside: who makes a GPTModel reads `GPTModel: nHeads should be ...`
 */
export function withName(error: unknown, name: string, { isClass = false } = {}): unknown {
  if (!(error instanceof GptLayersError)) return error
  const inner = names.get(error)
  if (inner !== undefined && !isClass) return error
  names.set(error, name)
  const { message, stack } = error // V8 writes the message into the stack when that is first read
  error.message = `${name}: ${inner === undefined ? message : message.slice(`${inner}: `.length)}`
  error.stack = stack?.replace(message, () => error.message)
  return error
}
