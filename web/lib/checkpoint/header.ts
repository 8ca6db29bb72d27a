import { describe, MAX_AXES } from '../check.ts'
import { fail } from '../errors.ts'
import { bytesOf, DTYPES } from './dtypes.ts'

/** The most names in a header. A model has some thousands. */
const MAX_NAMES = 1_000_000

/** What the header says about a tensor. */
export interface Info {
  name: string
  /** one of DTYPES */
  dtype: string
  shape: readonly number[]
  /** the first byte, from the begin of the data */
  begin: number
  /** the byte after the last */
  end: number
}

export interface Header {
  /** in the order of their data */
  tensors: Info[]
  /** the length of the data */
  dataBytes: number
  metadata: ReadonlyMap<string, string>
}

/**
 * Reads the header of a safetensors file. Of two tensors with one name the last counts, as in JSON.parse: the
 * data of the other would be a gap, which is refused.
 *
 * @param what the argument that is the file, for errors
 * @param bytes JSON in UTF-8
 */
export function readHeader(what: string, bytes: Uint8Array): Header {
  const { __metadata__: metadata = {}, ...infos } = parse(what, bytes)
  const names = Object.keys(infos)
  if (names.length > MAX_NAMES) {
    throw notSafetensors(what, `a header with ${names.length} names, more than ${MAX_NAMES}`)
  }
  if (!isStrings(metadata)) throw notSafetensors(what, '__metadata__ that is not an object of strings')
  const tensors = names.map((name) => checkInfo(what, name, infos[name]))
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end)
  let dataBytes = 0
  for (const { name, begin, end } of tensors) {
    if (begin !== dataBytes) {
      throw notSafetensors(what, `${describe(name)} at byte ${begin} of the data instead of ${dataBytes}`)
    }
    dataBytes = end
  }
  return { tensors, dataBytes, metadata: new Map(Object.entries(metadata)) }
}

function parse(what: string, bytes: Uint8Array): Record<string, unknown> {
  if (bytes[0] !== '{'.charCodeAt(0)) throw notSafetensors(what, 'a header that does not begin with {')
  try {
    // A copy: browsers do not decode shared memory.
    return JSON.parse(
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes)),
    )
  } catch (cause) {
    throw notSafetensors(what, 'a header that is not JSON in UTF-8', cause)
  }
}

const isStrings = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((text) => typeof text === 'string')

/** @param what the argument that is the file */
export const notSafetensors = (what: string, problem: string, cause?: unknown) =>
  fail('VALUE', what, 'be a safetensors file', problem, cause)

function checkInfo(what: string, name: string, info: unknown): Info {
  const { dtype, shape, data_offsets: offsets }: Record<string, unknown> = Object(info)
  const tensor = describe(name)
  if (typeof dtype !== 'string') throw notSafetensors(what, `${tensor} with dtype ${describe(dtype)}`)
  if (!Object.hasOwn(DTYPES, dtype)) {
    const known = Object.keys(DTYPES).join(', ')
    throw fail('UNSUPPORTED', tensor, `have a dtype among ${known}`, describe(dtype))
  }
  if (!areCounts(shape)) throw notSafetensors(what, `${tensor} of shape ${describe(shape)}`)
  if (!areCounts(offsets) || offsets.length !== 2) {
    throw notSafetensors(what, `${tensor} at offsets ${describe(offsets)}`)
  }
  const [begin, end] = offsets
  const size = bytesOf(dtype, shape)
  if (end - begin !== size) {
    const problem = `${dtype} of shape [${shape.join(', ')}], in ${end - begin} bytes instead of ${size}`
    throw notSafetensors(what, `${tensor}, ${problem}`)
  }
  return { name, dtype, shape, begin, end }
}

/** Whether a value is an array of integers >= 0. */
const areCounts = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length <= MAX_AXES &&
  value.every((n) => Number.isSafeInteger(n) && n >= 0 && !Object.is(n, -0))
