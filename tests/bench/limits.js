// The limits of this machine: the loops in limits.c, on as many threads as the contestants have.

import { loops } from './limits-loops.js'
import { BUILDS } from './ours.js'
import { Worker } from './workers.js'

/** @typedef {ArrayBuffer | Uint8Array<ArrayBuffer>} Bytes */

/**
 * @typedef {{ name: string, call: () => unknown, amount: number }} Limit amount: flops or bytes of one call
 * @typedef {Record<string, WebAssembly.Module>} Modules limits.c by build
 */

/**
 * Compiles the modules that exist and that this machine can run.
 *
 * @param {(name: string) => Bytes | undefined | Promise<Bytes | undefined>} read gets the bytes of a file in
 *   build/, or undefined
 * @returns {Promise<Modules>}
 */
export async function compileLimits(read) {
  /** @type {Modules} */
  const modules = {}
  for (const build of BUILDS) {
    const bytes = await read(`limits-${build}.wasm`)
    if (bytes && WebAssembly.validate(bytes)) modules[build] = await WebAssembly.compile(bytes)
  }
  return modules
}

/**
 * @param {Modules} modules
 * @param {number} threads
 * @returns {Promise<{ limits: Map<string, Limit>, close: () => void }>}
 *   limits by name: 'memory', 'multiply-add simd' and 'multiply-add relaxed'
 */
export async function openLimits(modules, threads) {
  const helpers = await Promise.all(Array.from({ length: threads - 1 }, () => startHelper(modules, threads)))
  const own = await loops(modules, threads)
  const limits = Object.entries(own).map(([name, { call, amount }]) => {
    const together = () => {
      const others = helpers.map((helper) => helper.run(name))
      call()
      return Promise.all(others)
    }
    const limit = { name, call: threads === 1 ? call : together, amount }
    return /** @type {const} */ ([name, limit])
  })
  return { limits: new Map(limits), close: () => helpers.forEach((helper) => helper.stop()) }
}

/** @param {Modules} modules @param {number} threads */
async function startHelper(modules, threads) {
  const worker = new Worker(new URL('./limits-worker.js', import.meta.url), { type: 'module' })
  const { port1, port2 } = new MessageChannel()
  const answer = () => new Promise((resolve) => (port1.onmessage = resolve))
  const ready = answer()
  worker.postMessage({ port: port2, modules, threads }, [port2])
  await ready
  return {
    run(/** @type {string} */ name) {
      const done = answer()
      port1.postMessage(name)
      return done
    },
    stop() {
      port1.close()
      worker.terminate()
    },
  }
}
