import type * as torchfile from './checkpoint/torchfile.ts'
import type * as threads from './threads/threads.ts'
import { GptLayersError, messageOf } from './errors.ts'

/** What is imported where it is needed. An entry for service workers, which must not import(), has it inside. */
export interface Imports {
  threads: () => Promise<Pick<typeof threads, 'startPool'>>
  torchfile: () => Promise<Pick<typeof torchfile, 'readTorchModel' | 'readTorchTensors'>>
}

/** @throws {GptLayersError} NETWORK */
export const importNow = <T>(load: () => Promise<T>): Promise<T> =>
  load().catch((cause) => {
    const message = `a part of gpt-layers could not be imported (${messageOf(cause)})`
    throw new GptLayersError('NETWORK', `${message}. Reload the page once the network is back`, { cause })
  })
