// Builds small ONNX models in code. Only the messages of onnx.proto that these models use are here.

const text = new TextEncoder()
const VARINT = 0
const LENGTH = 2 // a byte count and the bytes: strings, raw data, messages
const FIXED32 = 5

/** The domain of the operators that onnxruntime adds to ONNX's. */
export const MICROSOFT = 'com.microsoft'

/** A message in pieces: a weight of 154 MB is copied once, at the end. @typedef {Uint8Array[]} Part */

/** @param {Part} part */
const lengthOf = (part) => part.reduce((sum, { length }) => sum + length, 0)

/** @param {Part} part */
function join(part) {
  const bytes = new Uint8Array(lengthOf(part))
  let at = 0
  for (const piece of part) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

/** Seven bits per byte, lowest first; the eighth bit is set in all bytes but the last. @param {number} n */
function varint(n) {
  const bytes = []
  for (; n >= 0x80; n = Math.floor(n / 0x80)) bytes.push((n % 0x80) | 0x80)
  return Uint8Array.of(...bytes, n)
}

/** @param {number} number @param {number} type */
const tag = (number, type) => varint(number * 8 + type)

/** @param {number} number @param {number} n */
const integer = (number, n) => [tag(number, VARINT), varint(n)]
/** @param {number} number @param {number} x */
const float = (number, x) => [tag(number, FIXED32), new Uint8Array(Float32Array.of(x).buffer)]
/** @param {number} number @param {Part} part */
const blob = (number, part) => [tag(number, LENGTH), varint(lengthOf(part)), ...part]
/** @param {number} number @param {string} string */
const string = (number, string) => blob(number, [text.encode(string)])
/** @param {number} number @param {Part[]} fields */
const message = (number, ...fields) => blob(number, fields.flat())

/**
 * AttributeProto, of a node: name = 1, f = 2, i = 3, s = 4, ints = 8, type = 20 (1, 2, 3 or 7 for these)
 *
 * @param {[string, number | string | number[]]} attribute a fraction, an integer, a string or integers
 */
function attribute([name, value]) {
  if (Array.isArray(value)) {
    return message(5, string(1, name), ...value.map((item) => integer(8, item)), integer(20, 7))
  }
  if (typeof value === 'string') return message(5, string(1, name), string(4, value), integer(20, 3))
  if (Number.isInteger(value)) return message(5, string(1, name), integer(3, value), integer(20, 2))
  return message(5, string(1, name), float(2, value), integer(20, 1))
}

/**
 * NodeProto, of a graph: input = 1, output = 2, op_type = 4, attribute = 5, domain = 7
 *
 * @param {string} operator
 * @param {string[]} inputs
 * @param {string | string[]} outputs
 * @param {Record<string, number | string | number[]>} [attributes]
 * @param {string} [domain] the domain of the operator; by default ONNX's own
 */
export function node(operator, inputs, outputs, attributes = {}, domain = '') {
  return message(
    1,
    ...inputs.map((name) => string(1, name)),
    ...[outputs].flat().map((name) => string(2, name)),
    string(4, operator),
    ...Object.entries(attributes).map(attribute),
    string(7, domain),
  )
}

/** TensorProto.DataType. */
const TYPES = { float32: 1, int8: 3, int64: 7 }

/** @param {Float32Array | Int8Array | BigInt64Array} values */
function typeOf(values) {
  if (values instanceof Float32Array) return TYPES.float32
  return values instanceof Int8Array ? TYPES.int8 : TYPES.int64
}

/**
 * TensorProto of a graph, for a weight inside the model: dims = 1, data_type = 2, name = 8, raw_data = 9
 *
 * @param {string} name
 * @param {number[]} shape
 * @param {Float32Array | Int8Array | BigInt64Array} values
 */
export function weight(name, shape, values) {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const dims = shape.map((size) => integer(1, size))
  return message(5, ...dims, integer(2, typeOf(values)), string(8, name), blob(9, [bytes]))
}

/**
 * ValueInfoProto, of a graph: name = 1, type = 2 { tensor_type = 1 { elem_type = 1, shape = 2 { dim = 1 {
 * dim_value = 1, dim_param = 2 } } } }
 *
 * @typedef {{ name: string, shape: (number | string)[], type?: 'float32' | 'int64' }} Value a string in the
 *   shape names a size that is known only at run time
 *
 * @param {number} number
 * @param {Value} value
 */
function value(number, { name, shape, type = 'float32' }) {
  const dims = shape.map((size) => message(1, typeof size === 'number' ? integer(1, size) : string(2, size)))
  const tensor = message(1, integer(1, TYPES[type]), message(2, ...dims))
  return message(number, string(1, name), message(2, tensor))
}

/**
 * ModelProto: ir_version = 1, graph = 7, opset_import = 8 { domain = 1, version = 2 }. Of the graph: node =
 * 1, name = 2, initializer = 5, input = 11, output = 12.
 *
 * @param {{ inputs: Value[], outputs: Value[], parts: Part[] }} graph parts: nodes and weights
 */
export function model({ inputs, outputs, parts }) {
  const graph = message(
    7,
    ...parts,
    string(2, 'graph'),
    ...inputs.map((input) => value(11, input)),
    ...outputs.map((output) => value(12, output)),
  )
  const operators = message(8, string(1, ''), integer(2, 20)) // The first version with Gelu.
  const contributed = message(8, string(1, MICROSOFT), integer(2, 1))
  return join([...integer(1, 9), ...operators, ...contributed, ...graph])
}
