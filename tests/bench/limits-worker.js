// A worker that runs the loops in limits.c on request.

/** @import { Modules } from './limits.js' */

import { loops } from './limits-loops.js'
import { parent } from './workers.js'

/** @typedef {{ port: MessagePort, modules: Modules, threads: number }} Start */

parent.onmessage = async (/** @type {MessageEvent<Start>} */ { data: { port, modules, threads } }) => {
  const found = await loops(modules, threads)
  port.onmessage = ({ data: name }) => {
    found[name].call()
    port.postMessage('done')
  }
  port.postMessage('ready')
}
