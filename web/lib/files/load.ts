// Tensors by name, from a file that is in memory.

import type { Reading, TensorFile } from './reading.ts'
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
    const { length } = checkBytes('bytes', bytes)
    return newTensors(bytes, readSafetensors('bytes'), (file) => {
      if (length === file.byteLength) return
      throw fail('VALUE', 'bytes', 'be a safetensors file', `${length} bytes instead of ${file.byteLength}`)
    })
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
    checkBytes('bytes', bytes)
    const { readTorchTensors } = await importTorchReader()
    return newTensors(bytes, readTorchTensors('bytes'))
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

/**
 * All tensors of a file that is in memory.
 *
 * @param check called before there are any
 */
function newTensors(
  bytes: unknown,
  reading: Reading<TensorFile>,
  check?: (file: TensorFile) => void,
): Record<string, Tensor> {
  const all = checkBytes('bytes', bytes)
  let at = 0
  function run<T>(reading: Reading<T>): T {
    let step = reading.next()
    while (!step.done) {
      const part = all.subarray(at, at + step.value)
      at += part.length
      step = reading.next(part)
    }
    return step.value
  }
  const file = run(reading)
  check?.(file)
  return scoped(() => {
    const tensors = new Map(file.tensors.map((info) => [info, Tensor.empty(info.shape)]))
    run(
      file.read((info) => ({
        alignment: 1,
        write: (values, first, rows) => tensors.get(info)?.data.set(values, (first * values.length) / rows),
      })),
    )
    return Object.fromEntries([...tensors].map(([{ name }, tensor]) => [name, tensor]))
  })
}
