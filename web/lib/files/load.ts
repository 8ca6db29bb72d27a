// Tensors by name, from a file that is in memory.

import type { TensorInfo } from './names.ts'
import type { Reading, RowWriter, TensorFile } from './reading.ts'
import { checkCount, named } from '../check.ts'
import { fail, GptLayersError, messageOf, withName } from '../errors.ts'
import { scoped } from '../runtime/scope.ts'
import { Tensor } from '../tensor/tensor.ts'
import { checkBytes } from '../typed.ts'
import { readSafetensors } from './safetensors.ts'

/**
 * Reads the tensors of a safetensors file. `layer.loadStateDict` takes them.
 *
 * | dtype | becomes float32 |
 * | --- | --- |
 * | F32, F16, BF16 | exactly |
 * | F64 | rounded |
 * | I8 to I64, U8 to U64, BOOL | exactly, otherwise an error |
 *
 * @param bytes the file
 * @returns new tensors by name
 * @throws {GptLayersError} VALUE where the file is truncated or damaged, or float32 cannot represent an
 *   integer; UNSUPPORTED for another dtype
 * @example gpt.loadSafetensors(readFileSync('model.safetensors'))
 */
export const loadSafetensors = /* @__PURE__ */ named(
  'loadSafetensors',
  (bytes: Uint8Array | ArrayBuffer): Record<string, Tensor> => {
    const input = new BytesInput(bytes)
    const file = input.run(readSafetensors('bytes'))
    if (input.length === file.byteLength) return newTensors(input, file)
    const problem = `${input.length} bytes instead of ${file.byteLength}`
    throw fail('VALUE', 'bytes', 'be a safetensors file', problem)
  },
)

/**
 * Reads all tensors of a file that torch.save has written, since PyTorch 1.6. Those in dicts and lists
 * inside have the path as their name: `optimizer.state.0.exp_avg`. `GPTModel.fromPretrained` reads a model
 * from such a file.
 *
 * @param bytes the file. Its pickle is read as data: nothing is called. What is no tensor is left out
 * @returns new float32 tensors by name
 * @throws {GptLayersError} as a rejection: VALUE where the file is damaged, has tensors in other objects than
 *   lists and dicts, such as a whole model, or float32 cannot represent an integer; UNSUPPORTED for
 *   compressed or big-endian files and those over 4 GB
 * @example const { 'out_head.weight': head } = await gpt.loadTorch(readFileSync('model.pth'))
 */
export async function loadTorch(bytes: Uint8Array | ArrayBuffer): Promise<Record<string, Tensor>> {
  try {
    checkCount(arguments, 1)
    const input = new BytesInput(bytes)
    const { readTorchTensors } = await importTorchReader()
    return newTensors(input, input.run(readTorchTensors('bytes')))
  } catch (error) {
    throw withName(error, 'loadTorch')
  }
}

/**
 * The reader of torch.save's files, which is fetched where it is needed.
 */
export const importTorchReader = () =>
  import('./torchfile.ts').catch((cause) => {
    const message = `a part of gpt-layers could not be imported (${messageOf(cause)})`
    throw new GptLayersError('NETWORK', `${message}. Reload the page once the network is back`, { cause })
  })

/** Reads a file that is in memory. */
class BytesInput {
  #bytes
  /** The next byte. */
  at = 0

  constructor(bytes: unknown) {
    this.#bytes = checkBytes('bytes', bytes)
  }

  get length(): number {
    return this.#bytes.length
  }

  run<T>(reading: Reading<T>): T {
    let step = reading.next()
    while (!step.done) {
      const bytes = this.#bytes.subarray(this.at, this.at + step.value)
      this.at += bytes.length
      step = reading.next(bytes)
    }
    return step.value
  }
}

/** All tensors of a file that is in memory. */
function newTensors(input: BytesInput, file: TensorFile): Record<string, Tensor> {
  return scoped(() => {
    const tensors = new Map(file.tensors.map((info) => [info, Tensor.empty(info.shape)]))
    const writerOf = (info: TensorInfo): RowWriter => ({
      alignment: 1,
      takesInt8: false,
      write: (values, first, rows) => tensors.get(info)?.data.set(values, (first * values.length) / rows),
    })
    input.run(file.read(writerOf))
    return Object.fromEntries([...tensors].map(([{ name }, tensor]) => [name, tensor]))
  })
}
