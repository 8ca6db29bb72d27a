import type { Runtime } from '../runtime/runtime.ts'
import { type Call, CALL_WORDS, MAX_ARGUMENTS } from './call.ts'
import { Pool } from './pool.ts'
import { type AnyWorker, startWorkers } from './workers.ts'

const STACK_BYTES = 65536 // per worker, as the first instance has

/** The message that a worker gets once it has said that it is ours. */
export interface WorkerSetup {
  module: WebAssembly.Module
  memory: WebAssembly.Memory
  /** where the worker's stack begins; it grows down */
  stackTop: number
  /** the names of the kernels; a call has the index of one */
  names: string[]
  call: Call
}

/**
 * @param module the code of the runtime's instance
 * @param threads 2 or more
 * @param createWorker the user's; by default the package starts its workers itself
 * @returns a pool with this number of threads, or the reason why workers cannot be started
 */
export async function startPool(
  { exports, memory }: Runtime,
  module: WebAssembly.Module,
  threads: number,
  createWorker?: () => AnyWorker,
): Promise<Pool | string> {
  const kernels = Object.fromEntries(Object.entries(exports).filter(([name]) => name.startsWith('gpt_')))
  // Each attempt to start workers has memory of its own, which is never freed: a worker of an attempt that
  // failed may still run.
  const newSetups = () => {
    const args = memory.allocate(8 * MAX_ARGUMENTS + 4 * CALL_WORDS + STACK_BYTES * (threads - 1))
    const words = args + 8 * MAX_ARGUMENTS
    const stacks = words + 4 * CALL_WORDS
    const call = {
      args: memory.doubles(args, MAX_ARGUMENTS),
      words: memory.words(words, CALL_WORDS).fill(0),
    }
    return Array.from({ length: threads - 1 }, (_, i) => ({
      module,
      memory: exports.memory,
      stackTop: stacks + STACK_BYTES * (i + 1),
      names: Object.keys(kernels),
      call,
    }))
  }
  const started = await startWorkers(newSetups, createWorker)
  return typeof started === 'string' ? started : new Pool(started.call, kernels, started.workers)
}
