// What starts workers, in a chunk of its own, which is imported when it is needed.

export { Session } from './generate/session.js'
export { startPool } from './threads/threads.js'
