// Work that waits until the browser has nothing else to do, one piece after the other.

/** The longest wait for an idle moment, in milliseconds. */
const PATIENCE = 1000

/** Resolves once nothing else is to be done. */
const idle = () =>
  new Promise<unknown>((resolve) =>
    'requestIdleCallback' in window
      ? requestIdleCallback(resolve, { timeout: PATIENCE })
      : setTimeout(resolve, 50),
  )

let last: Promise<unknown> = Promise.resolve()

/**
 * Does a piece of work after those before it. Each of its steps gets the result of the step before, and is a
 * task of its own.
 */
export function inTurn(...steps: ((result: any) => unknown)[]): Promise<unknown> {
  const done = steps.reduce(
    (before, step) => before.then(async (result) => (await idle(), step(result))),
    last,
  )
  last = done.catch(() => {})
  return done
}

/** Resolves once all work until now is done. */
export const allDone = (): Promise<unknown> => last
