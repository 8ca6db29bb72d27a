// A thread beside the main one that runs the loops in limits.c when told to.

import { loops } from './limits-loops.js'
import { parent } from './workers.js'

parent.onmessage = async ({ data: { port, modules, threads } }) => {
  const found = await loops(modules, threads)
  port.onmessage = ({ data: name }) => {
    found[name].call()
    port.postMessage('done')
  }
  port.postMessage('ready')
}
