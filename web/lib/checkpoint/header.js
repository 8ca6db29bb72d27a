import { describe } from '../check.js'
import { GptLayersError } from '../errors.js'
import { bytesOf, DTYPES } from './dtypes.js'

/**
 * What the header says about a tensor.
 *
 * @typedef {object} Info
 * @property {string} name
 * @property {string} dtype one of DTYPES
 * @property {readonly number[]} shape
 * @property {number} begin the first byte, from the begin of the data
 * @property {number} end the byte after the last
 */

/**
 * Reads the header of a safetensors file, as strictly as the format's own library.
 *
 * @param {string} where
 * @param {ArrayBuffer} text JSON in UTF-8
 * @returns {{ tensors: Info[], dataBytes: number }} the tensors in the order of their data, and the length of
 *   the data
 * @throws {GptLayersError} VALUE, UNSUPPORTED
 */
export function readHeader(where, text) {
  const { __metadata__: metadata = {}, ...infos } = parseObject(where, text)
  if (!isObject(metadata) || Object.values(metadata).some((value) => typeof value !== 'string')) {
    throw notSafetensors(where, '__metadata__ that is not an object of strings')
  }
  const tensors = Object.entries(infos).map(([name, info]) => checkInfo(where, name, info))
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end)
  let dataBytes = 0
  for (const { name, begin, end } of tensors) {
    if (begin !== dataBytes) {
      throw notSafetensors(where, `${describe(name)} at byte ${begin} of the data instead of ${dataBytes}`)
    }
    dataBytes = end
  }
  return { tensors, dataBytes }
}

/**
 * @param {string} where
 * @param {string} problem
 * @param {unknown} [cause]
 */
export const notSafetensors = (where, problem, cause) =>
  new GptLayersError('VALUE', `${where}: bytes should be a safetensors file, got ${problem}`, { cause })

/**
 * @param {string} where
 * @param {string} name
 * @param {unknown} info
 * @returns {Info}
 */
function checkInfo(where, name, info) {
  const { dtype, shape, data_offsets: offsets } = isObject(info) ? info : {}
  const tensor = describe(name)
  if (typeof dtype !== 'string') throw notSafetensors(where, `${tensor} with dtype ${describe(dtype)}`)
  if (!Object.hasOwn(DTYPES, dtype)) {
    const known = Object.keys(DTYPES).join(', ')
    throw new GptLayersError(
      'UNSUPPORTED',
      `${where}: ${tensor} should have a dtype among ${known}, got ${describe(dtype)}`,
    )
  }
  if (!areCounts(shape)) throw notSafetensors(where, `${tensor} of shape ${describe(shape)}`)
  if (!areCounts(offsets) || offsets.length !== 2) {
    throw notSafetensors(where, `${tensor} at offsets ${describe(offsets)}`)
  }
  const [begin, end] = offsets
  const size = bytesOf(dtype, shape)
  if (end - begin !== size) {
    const problem = `${dtype} of shape [${shape.join(', ')}], in ${end - begin} bytes instead of ${size}`
    throw notSafetensors(where, `${tensor}, ${problem}`)
  }
  return { name, dtype, shape, begin, end }
}

/**
 * @param {string} where
 * @param {ArrayBuffer} text
 * @returns {Record<string, unknown>}
 */
function parseObject(where, text) {
  let json
  let value
  try {
    json = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text)
    value = JSON.parse(json)
  } catch (cause) {
    throw notSafetensors(where, 'a header that is not JSON in UTF-8', cause)
  }
  if (!isObject(value) || json[0] !== '{') throw notSafetensors(where, 'a header that does not begin with {')
  const name = repeatedName(json)
  if (name !== undefined) throw notSafetensors(where, `a header with ${describe(name)} twice`)
  return value
}

/**
 * Finds a name that an object of a JSON text has twice. JSON.parse keeps the last of the two and other
 * readers the first, so that two programs would read different tensors from one file.
 *
 * @param {string} json valid JSON
 * @returns {string | undefined}
 */
function repeatedName(json) {
  /** @type {Set<string>[]} the names so far, of each object that is open */
  const open = []
  const tokens = json.matchAll(/("(?:[^"\\]|\\.)*")(?=\s*:)|"(?:[^"\\]|\\.)*"|[{}]/g)
  for (const [token, key] of tokens) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (key !== undefined) {
      const name = JSON.parse(key)
      const names = /** @type {Set<string>} */ (open.at(-1))
      if (names.has(name)) return name
      names.add(name)
    }
  }
  return undefined
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** @param {unknown} value @returns {value is number[]} whether it is an array of integers >= 0 */
const areCounts = (value) => Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && n >= 0)
